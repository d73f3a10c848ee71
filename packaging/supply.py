"""What the frozen program ships that others wrote: their licences in one text, and a bill of materials (CycloneDX)."""

import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

HERE = Path(__file__).resolve().parent
OURS = "hypatia-companion"
NAMED_LICENCE = re.compile(r"(?:^|/)(?:licen[cs]e|copying|notice|authors)", re.I)
RULE = "=" * 100
QT = """\
Qt and PySide6 are used under the GNU Lesser General Public License, version 3. Their libraries lie in this folder as
files of their own (PySide6/) and may be replaced by versions of your own with the same interfaces. Their source is
offered by The Qt Company at https://www.qt.io/download-open-source; this program changes nothing in them. The texts
of the licence follow.
"""


def shipped() -> list[Distribution]:
    """Every package this program needs here, itself left out, by name."""
    found: dict[str, Distribution] = {}

    def follow(name: str, extras: frozenset[str]) -> None:
        one = importlib.metadata.distribution(name)
        for text in one.requires or ():
            wanted = Requirement(text)
            if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras | {""}):
                continue
            key = _key(wanted.name)
            if key not in found:
                found[key] = importlib.metadata.distribution(wanted.name)
                follow(wanted.name, frozenset(wanted.extras))

    follow(OURS, frozenset())
    return [found[key] for key in sorted(found)]


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(one: Distribution) -> str:
    """How a package names its licence."""
    data = _metadata(one)
    named = str(data.get("License-Expression") or "").strip()
    classified = [str(text).rsplit(" :: ", 1)[-1] for text in data.get_all("Classifier") or () if "License ::" in text]
    said = str(data.get("License") or "").strip().partition("\n")[0]
    return named or " and ".join(classified) or said


def _metadata(one: Distribution) -> Message:
    data = one.metadata
    assert isinstance(data, Message)
    return data


def licence_texts(one: Distribution) -> Iterator[str]:
    """The licence files a package brings with it."""
    for path in one.files or ():
        if path.suffix not in (".py", ".pyc") and NAMED_LICENCE.search(str(path)) and path.locate().is_file():
            yield Path(str(path.locate())).read_text("utf-8", "replace").strip()


def system_libraries(folder: Path) -> dict[str, str]:
    """Debian packages whose libraries were copied into the folder, with their copyright texts."""
    if not shutil.which("dpkg-query"):
        return {}
    found = {}
    for library in sorted(folder.glob("*.so*")):
        original = next((path for path in Path("/usr/lib").glob(f"*/{library.name}")), None)
        for place in (original, original.resolve()) if original else ():
            done = subprocess.run(["dpkg-query", "-S", str(place)], capture_output=True, text=True)
            if done.returncode == 0:
                package = done.stdout.partition(":")[0]
                found[package] = Path("/usr/share/doc", package, "copyright").read_text("utf-8", "replace").strip()
                break
    return found


def licences(folder: Path | None = None) -> str:
    """Every licence of what is shipped, in one text; with `folder`, of the system libraries copied there as well."""
    parts = [QT, *(path.read_text("utf-8") for path in sorted((HERE / "licences").iterdir()))]
    python = Path(sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "LICENSE.txt")
    if python.is_file():
        parts.append(f"Python {sys.version.split()[0]}\n\n{python.read_text('utf-8')}")
    for one in (*shipped(), importlib.metadata.distribution("pyinstaller")):
        text = "\n\n".join(licence_texts(one)) or "The package brings no licence text of its own."
        parts.append(f"{one.name} {one.version} ({licence(one)})\n\n{text}")
    for package, text in (system_libraries(folder) if folder else {}).items():
        parts.append(f"{package} (library of the system it was built on)\n\n{text}")
    return f"\n\n{RULE}\n\n".join(part.strip() for part in parts) + "\n"


def bill_of_materials(lock: str) -> dict[str, Any]:
    """A CycloneDX 1.6 document of the packages, with the hashes of requirements.lock; the same for the same."""
    components = []
    for one in shipped():
        block = re.search(rf"^{_key(one.name)}==[^\n]*\n((?:    --hash=[^\n]*\n?)+)", lock, re.M)
        hashes = re.findall(r"sha256:([0-9a-f]{64})", block[1]) if block else []
        components.append(
            {
                "type": "library",
                "bom-ref": f"{_key(one.name)}@{one.version}",
                "name": one.name,
                "version": one.version,
                "licenses": [{"license": {"name": licence(one)}}],
                "properties": [{"name": "hypatia-companion:accepted-sha256", "value": value} for value in hashes],
            }
        )
    ours = importlib.metadata.version(OURS)
    root = f"{OURS}@{ours}"
    seed = hashlib.sha256(repr([root, *(one["bom-ref"] for one in components)]).encode()).digest()[:16]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(bytes=seed, version=4)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": root, "name": OURS, "version": ours}},
        "components": components,
        "dependencies": [{"ref": root, "dependsOn": [one["bom-ref"] for one in components]}],
    }
