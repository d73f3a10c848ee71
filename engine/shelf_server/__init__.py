"""The built-in Hypatia-compatible shelf server; a process of its own over stdio."""

from engine.shelf_server.process import main

__all__ = ["main"]
