"""The registry file of shelves and the ones that are open (contracts/hypatia.md 8).

Shelves open on first use, so a broken one only fails its own calls. The file is re-read when it changed, and changed
under a lock: several processes may share it.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from engine.jsonrpc import well_formed
from engine.shelf_server.errors import ToolError
from engine.shelf_server.locking import locked
from engine.shelf_server.shelf import Shelf

log = logging.getLogger(__name__)

DEFAULT = "default"


class Registry:
    """Names, folders and open shelves below one home."""

    def __init__(self, home: Path) -> None:
        """Read the registry and make the default shelf where none is registered. Raises ToolError if it is corrupt."""
        self._home = home.absolute()
        self._file = self._home / "shelves.json"
        self._open: dict[str, Shelf] = {}
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._seen = self._signature()
        self._paths = self._read()
        if DEFAULT not in self._paths:
            try:
                self.connect(self._home / DEFAULT, DEFAULT)
            except ToolError as error:
                # Either another process was faster, or the folder is broken: then it is listed, and its calls say why.
                self._paths = {DEFAULT: self._home / DEFAULT, **self._read()}
                log.info("default shelf not made: %s", error)

    def names(self) -> list[str]:
        """All registered names, sorted."""
        self._refresh()
        return sorted(self._paths)

    def path(self, name: str) -> Path:
        """Where a shelf is registered."""
        return self._paths[name]

    def shelf(self, name: str) -> Shelf:
        """The open shelf of that name. Raises ToolError with *is not connected* and the reason."""
        self._refresh()
        shelf = self._open.get(name)
        if shelf is not None and not shelf.present():
            self._close(name)
            shelf = None
        if shelf is None:
            if name not in self._paths:
                raise ToolError(f"shelf error: shelf '{name}' is not connected")
            try:
                shelf = self._open[name] = Shelf(name, self._paths[name])
            except ToolError as error:
                if "database is locked" in str(error):
                    raise
                raise ToolError(f"shelf error: shelf '{name}' is not connected: {error}") from error
        return shelf

    def if_open(self, name: str) -> Shelf | None:
        """The shelf of that name if it can be opened."""
        try:
            return self.shelf(name)
        except ToolError:
            return None

    def opened(self) -> list[tuple[str, Path]]:
        """Names and folders of the open shelves; any thread may ask."""
        return [(name, shelf.path) for name, shelf in list(self._open.items())]

    def drop_vectors(self) -> None:
        """Let go of all vectors in memory; any thread may ask."""
        for shelf in list(self._open.values()):
            shelf.semantic.drop()

    def connect(self, path: Path, name: str) -> Path:
        """Make or open the shelf at `path` and register it (8.3)."""
        path = path.expanduser().resolve()
        with self._changing() as paths:
            if name in paths:
                raise ToolError(f"shelf error: shelf '{name}' is already connected")
            for other, taken in paths.items():
                if taken.resolve() == path:
                    raise ToolError(f"shelf error: {path} is already connected as '{other}'")
            Shelf(name, path, create=True).close()
            paths[name] = path
        return path

    def disconnect(self, name: str) -> Path:
        """Forget a shelf; its data stays."""
        with self._changing() as paths:
            if name not in paths:
                raise ToolError(f"shelf error: shelf '{name}' is not connected")
            path = paths.pop(name)
        return path

    def rename(self, name: str, new: str) -> Path:
        """Give a shelf another name, all in one step; its data stays."""
        with self._changing() as paths:
            if name not in paths:
                raise ToolError(f"shelf error: shelf '{name}' is not connected")
            if new in paths:
                raise ToolError(f"shelf error: shelf '{new}' is already connected")
            path = paths[new] = paths.pop(name)
        return path

    def close(self) -> None:
        """Let go of every shelf."""
        for name in list(self._open):
            self._close(name)

    def _close(self, name: str) -> None:
        self._open.pop(name).close()

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> dict[str, Path]:
        try:
            shelves = json.loads(self._file.read_text("utf-8"))["shelves"]
            return {well_formed(str(name)): Path(well_formed(str(path))) for name, path in shelves.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ToolError(f"IO error: {error.strerror}: {self._file}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToolError(f"JSON error: {self._file} is not a registry of shelves: {error}") from error

    def _refresh(self) -> None:
        signature = self._signature()
        if signature == self._seen:
            return
        self._seen = signature
        try:
            self._take(self._read())
        except ToolError as error:  # half written by somebody else, or broken: what we know stays good
            log.warning("registry not read: %s", error)

    def _take(self, paths: dict[str, Path]) -> None:
        self._paths = paths
        for name, shelf in list(self._open.items()):
            if paths.get(name) != shelf.path:
                self._close(name)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Path]]:
        """Change the registry: nobody else does meanwhile, and the file is replaced whole."""
        try:
            with locked(self._home / "shelves.lock"):
                paths = self._read()
                yield paths
                text = json.dumps(
                    {"shelves": {n: str(p) for n, p in sorted(paths.items())}}, indent=2, ensure_ascii=False
                )
                fresh = self._file.with_suffix(".new")
                with fresh.open("w", encoding="utf-8") as out:
                    out.write(text + "\n")
                    out.flush()
                    os.fsync(out.fileno())
                fresh.replace(self._file)
        except OSError as error:
            raise ToolError(f"IO error: {error.strerror}: {error.filename or self._file}") from error
        self._seen = self._signature()
        self._take(paths)
