"""Entry of the windowed program."""

from whole import guarded, here

from desktop.libraries import tell


def start() -> int:
    """The program, imported once it is known to be there."""
    from desktop.main import main

    return main()


raise SystemExit(guarded(start, tell, here(), first=True))
