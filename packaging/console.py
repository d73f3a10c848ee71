"""Entry of the console program: the command line without a screen."""

import engine.__main__  # noqa: F401 - its import runs the command and ends
