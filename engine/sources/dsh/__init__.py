"""Session logs of DSH, format versions 0 to 4: found, followed, read again."""

from engine.sources.dsh.discovery import LOG_NAME, discover, dsh_home
from engine.sources.dsh.reader import DshLog, is_inherited_mark, read_range

__all__ = ["LOG_NAME", "DshLog", "discover", "dsh_home", "is_inherited_mark", "read_range"]
