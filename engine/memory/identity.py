"""When two statements are the same one, and what they are called (features.md A.6, D.4)."""

import hashlib
import re
import unicodedata

_LEADING = re.compile(
    r"^(?:(?:please|kindly|note that|note:|remember that|remember:|remember|keep in mind that|fyi|请?注意|请?记住|记得)"
    r"[\s,:，：]+)+",
    re.IGNORECASE,
)
_ENDS = " \t.,;:!?。，；：！？\"'`“”‘’"


def text_key(text: str) -> str:
    """What a statement says, without case, spacing, polite openings and closing marks; polarity stays."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _LEADING.sub("", plain).strip(_ENDS)


def memory_id(root: str, reach: str, text: str) -> str:
    """24 hex digits of the project (none for all projects) and what is said in it."""
    return _digest("user" if reach == "user" else f"project\0{root}", text_key(text))[:24]


def memory_name(root: str, reach: str, id_: str) -> str:
    """The name of its entry on a shelf."""
    return f"mem:v1:{_digest('scope', '' if reach == 'user' else root)[:16]}:{id_}"


def _digest(*parts: str) -> str:
    joined = "".join(part + "\0" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
