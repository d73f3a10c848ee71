"""Imports as Python makes them.

PySide6 puts a function of its own in the place of `__import__`, for its `__feature__` switches, which nothing here
uses. It reads and keeps the source text of every module that is imported from then on: 9 MB and a tenth of the start,
and more with every window that loads a library.
"""

import builtins


def take_back() -> None:
    """Import plainly from here on; to be called before anything else that needs PySide6 is imported."""
    import PySide6.QtCore  # noqa: F401 - with this its function is in place

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
