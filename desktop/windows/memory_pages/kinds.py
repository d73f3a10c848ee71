"""Kinds of entries and of ties between them in a person's words, and the colour of each kind."""

from desktop.i18n import tr

_COLOURS = {  # on light and on dark ground; the same as in the plots
    "message": ("#0072b2", "#56b4e9"),
    "conversation": ("#5b5b5b", "#b8b8b8"),
    "summary": ("#009e73", "#2fc79b"),
    "archive": ("#8a5a00", "#e69f00"),
    "lesson": ("#a8457f", "#e092bd"),
    "rule": ("#c14f00", "#ff8a3c"),
    "taboo": ("#c14f00", "#ff8a3c"),
}


def kind_name(kind: str) -> str:
    """message, summary, …"""
    names = {
        "message": tr("Message"),
        "conversation": tr("Conversation"),
        "summary": tr("Summary"),
        "archive": tr("Archive"),
        "lesson": tr("Lesson"),
        "rule": tr("Rule"),
        "taboo": tr("Taboo"),
        "missing": tr("No longer there"),
    }
    return names.get(kind, tr("Entry"))


def kind_colour(kind: str, dark: bool) -> str:
    """The colour of a kind on light or dark ground."""
    return _COLOURS.get(kind, ("#5b5b5b", "#b8b8b8"))[dark]


def tie_name(relation: str, outward: bool) -> str:
    """How the entry in the middle stands to another one; what others call their ties stays as it is."""
    names = {
        ("derivedFrom", True): tr("comes from"),
        ("derivedFrom", False): tr("led to"),
        ("summary", True): tr("covers"),
        ("summary", False): tr("is covered by"),
        ("belongTo", True): tr("belongs to"),
        ("belongTo", False): tr("has"),
        ("refines", True): tr("refines"),
        ("refines", False): tr("is refined by"),
        ("supersedes", True): tr("replaces"),
        ("supersedes", False): tr("is replaced by"),
        ("contradicts", True): tr("contradicts"),
        ("contradicts", False): tr("is contradicted by"),
    }
    return names.get((relation, outward), relation if outward else f"← {relation}")
