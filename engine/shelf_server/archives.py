"""Files kept with a shelf, below its `archives` folder (contracts/hypatia.md 3.16)."""

import json
import os
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from engine.shelf_server.errors import ToolError

SCHEME = "archive://"
_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "svg": "image/svg+xml",
    "webp": "image/webp",
    "mp4": "video/mp4",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "pdf": "application/pdf",
}
_CATEGORIES = ("image", "video", "audio")
_DRIVE = re.compile(r"[A-Za-z]:")


class Stored(NamedTuple):
    """A file that was copied in: its content document for the shelf, and what `archive_store` answers of it."""

    name: str
    content: dict[str, Any]
    answer: dict[str, Any]


def store(folder: Path, file: str, name: str | None) -> Stored:
    """Copy a file below `folder`, by default under its own name. Raises ToolError."""
    source = Path(file).expanduser()
    name = source.name if name is None else name
    target = _inside(folder, name)
    try:
        if not source.is_file():
            raise FileNotFoundError(2, "No such file", str(source))
        target.parent.mkdir(parents=True, exist_ok=True)
        _stay_inside(folder, target, name)
        fresh = folder.with_name(f"archive-{os.getpid()}.new")  # beside, so that half a file is never listed
        try:
            shutil.copyfile(source, fresh)
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
        size = target.stat().st_size
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {error.filename or source}") from error
    return _described(name, size)


def _described(name: str, size: int) -> Stored:
    extension = PurePosixPath(name).suffix[1:].lower()
    mime = _TYPES.get(extension, "application/octet-stream")
    kind = mime.split("/")[0]
    category = kind if kind in _CATEGORIES else "file"
    data = {"filename": PurePosixPath(name).name, "mime_type": mime, "size_bytes": size}
    content = {
        "format": "json",
        "data": json.dumps(data, ensure_ascii=False),
        "tags": ["archive", category, extension],
        "figures": [SCHEME + name],
    }
    answer = {"uri": SCHEME + name, "knowledge": name, "mime_type": mime, "size_bytes": size}
    return Stored(name, content, answer)


def find(folder: Path, name: str) -> Path | None:
    """Where an archived file lies; None when there is none of that name."""
    try:
        path = _inside(folder, name)
        _stay_inside(folder, path, name)
        return path if path.is_file() else None
    except (ToolError, OSError, ValueError):
        return None


def names(folder: Path) -> list[str]:
    """All archived files, sorted."""
    try:
        return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {error.filename or folder}") from error


def _inside(folder: Path, name: str) -> Path:
    parts = re.split(r"[/\\]", name)
    if not name or "\0" in name or _DRIVE.match(name) or any(part in ("", ".", "..") for part in parts):
        raise ToolError(f"validation error: archive name must be a relative path inside the shelf's archives: '{name}'")
    return folder.joinpath(*parts)


def _stay_inside(folder: Path, path: Path, name: str) -> None:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ToolError(f"validation error: archive name leads outside the shelf's archives: '{name}'")
