"""Loads, checks and saves the settings file; what a person wrote into it is kept."""

import asyncio
import contextlib
import copy
import errno
import json
import logging
import os
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.errors import CompanionError, Environment, UserFixable
from engine.paths import write_private
from engine.settings.setting import Setting, route_problem
from engine.settings.table import SETTINGS

log = logging.getLogger(__name__)

type Values = dict[str, Any]
type OnChange = Callable[[tuple[str, ...], Values, Values], None]


class Settings:
    """Values of the table's keys. A wrong value is named in `problems` and its default is used.

    A file that cannot be read as TOML is never overwritten: `broken` is true, the last good values stay (the defaults
    at the start) and saving is refused until the person has repaired it.
    """

    def __init__(self, path: Path, table: tuple[Setting, ...] = SETTINGS) -> None:
        self.path = path
        self.problems: tuple[UserFixable, ...] = ()
        self.unknown: tuple[str, ...] = ()
        self.broken = False
        self._rows = {row.key: row for row in table}
        self._values: Values = {row.key: copy.deepcopy(row.default) for row in table}
        self._callbacks: list[OnChange] = []
        self._stamp: tuple[int, int, int] | None = None
        self._saving = asyncio.Lock()
        self._writing = threading.Lock()
        self._load()

    def get(self, key: str) -> Any:
        """The value in use, of the row's kind; lists are copies. KeyError for a key that is not in the table."""
        return copy.deepcopy(self._values[key])

    def set(self, key: str, value: object) -> None:
        """Check and save one value."""
        self.set_many({key: value})

    def set_many(self, changes: Mapping[str, object]) -> None:
        """Check all values, then save all of them; UserFixable names the field and its bound, and nothing is saved."""
        self._check(changes)
        self._write(changes)
        self.reload()

    async def save(self, changes: Mapping[str, object]) -> None:
        """The same without holding up the loop: written by a thread, in the order of the calls."""
        async with self._saving:
            self._check(changes)
            await asyncio.to_thread(self._write, changes)
            self.reload()

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Call `callback(keys, old, new)` after values or problems changed; the returned function ends that."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def changed_on_disk(self) -> bool:
        """Whether the file is another one than the one last read."""
        return self._stat() != self._stamp

    def reload(self) -> tuple[str, ...]:
        """Read the file again; tells the callbacks and returns the keys whose value is another now."""
        before, said = self._values, [problem.message for problem in self.problems]
        self._load()
        keys = tuple(key for key in before if before[key] != self._values[key])
        if keys or said != [problem.message for problem in self.problems]:
            old, new = ({key: copy.deepcopy(values[key]) for key in keys} for values in (before, self._values))
            for callback in tuple(self._callbacks):
                try:
                    callback(keys, old, new)
                except Exception:
                    log.exception("a part failed on changed settings")
        return keys

    def as_rows(self) -> list[dict[str, Any]]:
        """One plain object per setting, in the table's order."""
        return [
            {
                "key": row.key,
                "value": self.get(row.key),
                "default": row.default,
                "kind": row.kind,
                "bounds": row.bounds(),
                "group": row.group,
                "help": row.help_en,
            }
            for row in self._rows.values()
        ]

    def parse_text(self, key: str, text: str) -> Any:
        """The value that a text on the command line means; lists are JSON. UserFixable where it means none."""
        row = self._row(key)
        value = row.parse(text)
        if row.kind in ("routes", "list[str]"):
            with contextlib.suppress(json.JSONDecodeError):
                value = json.loads(value)
        if problem := row.problem(value):
            raise _refused(row, problem, "Write it as JSON." if row.kind in ("routes", "list[str]") else "")
        return value

    def _check(self, changes: Mapping[str, object]) -> None:
        for key, value in changes.items():
            row = self._row(key)
            if problem := row.problem(value):
                raise _refused(row, problem)
        if self.changed_on_disk():
            self.reload()
        if self.broken:
            broken = self.problems[0]
            raise UserFixable(broken.title, broken.message, broken.action)

    def _write(self, changes: Mapping[str, object]) -> None:
        # Imported only to save: tomlkit takes longer to load than the rest of the room, and reading needs none.
        from engine.settings.document import edited

        with self._writing:
            _read(self.path)  # it may have been broken since it was looked at
            self._put(edited(self._written(), self._rows, changes))

    def _row(self, key: str) -> Setting:
        row = self._rows.get(key)
        if row is None:
            raise UserFixable("Setting not saved", f"There is no setting {key}.", "Look at the list of settings.")
        return row

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def _load(self) -> None:
        self._stamp = self._stat()
        try:
            content = _read(self.path)
        except UserFixable as error:
            self.broken, self.problems, self.unknown = True, (error,), ()
            return
        self.broken = False
        flat = dict(_flatten(content, self._rows))
        problems: list[UserFixable] = []
        self._values = {row.key: self._checked(row, flat, problems) for row in self._rows.values()}
        known = {name for row in self._rows.values() for name in (row.key, row.renamed_from)}
        self.unknown = tuple(key for key in flat if key not in known)
        self.problems = tuple(problems)

    def _checked(self, row: Setting, flat: Values, problems: list[UserFixable]) -> Any:
        name = row.key if row.key in flat or not row.renamed_from else row.renamed_from
        if name not in flat:
            return copy.deepcopy(row.default)
        value = flat[name]

        def report(sentence: str, used: str) -> None:
            action = f"Correct it in Settings or in {self.path}. {used}"
            problems.append(UserFixable("A setting is wrong", f"{name} {sentence}.", action))

        if row.kind == "routes" and isinstance(value, list):
            good = []
            for number, route in enumerate(value, 1):
                if problem := route_problem(route):
                    report(f"has a wrong entry {number}: {problem}", "Until then this entry is left out.")
                else:
                    good.append(route)
            return good
        if problem := row.problem(value):
            report(problem, f"Until then {json.dumps(row.default)} is used.")
            return copy.deepcopy(row.default)
        return value

    def _written(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""

    def _put(self, text: str) -> None:
        target = Path(os.path.realpath(self.path))
        try:
            write_private(target, text)
        except OSError as error:
            raise unsaved("Setting not saved", target, error) from error


def _refused(row: Setting, problem: str, hint: str = "") -> UserFixable:
    """Says once what is valid: most problems do so themselves."""
    valid = "" if row.bounds() in problem else f"It must be {row.bounds()}."
    return UserFixable("Setting not saved", f"{row.key} {problem}.", f"{valid} {hint}".strip())


def _read(path: Path) -> Values:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        reason, action = "it is not in UTF-8", f"Save {path} as UTF-8."
        raise UserFixable("Settings not read", f"{path.name} cannot be read: {reason}.", action) from error
    except tomllib.TOMLDecodeError as error:
        sentence = f"{path.name} is not written as TOML: {error}."
        raise UserFixable("Settings not read", sentence, f"Correct {path}, or move it away to start anew.") from error
    except OSError as error:
        sentence = f"{path.name} cannot be read: {error.strerror}."
        raise UserFixable("Settings not read", sentence, f"Make {path} readable for you.") from error


def unsaved(title: str, path: Path, error: OSError) -> CompanionError:
    """Whose fault it is that a file could not be written."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return UserFixable(title, f"{path} cannot be written.", f"Make {path.parent} writable for you.")
    sentence = f"{path} cannot be written: {error.strerror}."
    return Environment(title, sentence, "Free some space, or check the disk, and try again.")


def _flatten(content: Mapping[str, Any], rows: Mapping[str, Setting], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = prefix + name
        if isinstance(value, dict) and key not in rows:
            yield from _flatten(value, rows, key + ".")
        else:
            yield key, value
