"""Which shelf names may key a row."""

from engine.errors import UserFixable


def checked_shelf(name: str) -> str:
    """The name itself; raises UserFixable when it is blank, padded, or holds a space or a control character."""
    if name and not any(letter.isspace() or not letter.isprintable() for letter in name):
        return name
    raise UserFixable(
        "This shelf name cannot be used",
        f"{name!r} is blank, or holds a space or a control character.",
        "Choose a name of letters, digits and dashes.",
    )
