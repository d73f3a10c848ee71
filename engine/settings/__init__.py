"""The settings table, the file a person can edit, and the keys of models (architecture.md 6)."""

from engine.settings.setting import Setting
from engine.settings.store import Settings
from engine.settings.table import BY_KEY, GROUPS, GROUPS_ZH, SETTINGS

__all__ = ["BY_KEY", "GROUPS", "GROUPS_ZH", "SETTINGS", "Setting", "Settings"]
