"""Build the frozen program, try it, and pack it for this system: `uv run python packaging/build.py [FOLDER]`.

Linux: a folder, a .tar.zst and a .deb. macOS: an app bundle in a .zip. Windows: a folder in a .zip, and the installer
where Inno Setup is. The folder (default `dist`) is made anew.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import debian
import icu
import supply
import whole
import zstandard

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "hypatia-companion"


def freeze(out: Path) -> Path:
    """The folder with both programs, or on macOS the app bundle that holds them."""
    spec = HERE / f"{NAME}.spec"
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level=WARN"]
    subprocess.run([*command, "--distpath", str(out), "--workpath", str(out / "work"), str(spec)], check=True, cwd=ROOT)
    shutil.rmtree(out / "work")
    for library in (out / NAME).rglob("libicudata.so.*"):
        if not library.is_symlink():
            icu.trim(library)
    if sys.platform != "darwin":
        return out / NAME
    shutil.rmtree(out / NAME)  # the bundle holds the same
    return out / "Hypatia Companion.app"


def add_papers(folder: Path) -> None:
    """Licences, bill of materials and our own texts, beside the programs."""
    if sys.platform == "darwin":
        folder = folder / "Contents" / "Resources"
    (folder / "THIRD-PARTY-LICENSES.txt").write_text(supply.licences(folder / "_internal"), "utf-8")
    bill = supply.bill_of_materials((ROOT / "requirements.lock").read_text("utf-8"))
    (folder / "sbom.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", "utf-8")
    for name in ("LICENSE", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, folder)
    if sys.platform != "darwin":  # signing makes its files larger
        whole.write(folder)


def self_test(folder: Path) -> None:
    """Start every part of the frozen program; raises when one does not work."""
    if sys.platform == "darwin":
        folder = folder / "Contents" / "MacOS"
    program = folder / (NAME + (".exe" if os.name == "nt" else ""))
    environ = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([str(program), "--self-test"], check=True, env=environ, timeout=120)


def version() -> str:
    """Our version, from the one place that has it."""
    import importlib.metadata

    return importlib.metadata.version(NAME)


def tar_zst(folder: Path, target: Path) -> Path:
    """One archive of the folder, the same for the same files: owner root, times of SOURCE_DATE_EPOCH or 0."""
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def plain(one: tarfile.TarInfo) -> tarfile.TarInfo:
        one.uid = one.gid = 0
        one.uname = one.gname = "root"
        one.mtime = when
        return one

    compressor = zstandard.ZstdCompressor(level=19, threads=-1)
    with target.open("wb") as file, compressor.stream_writer(file) as out, tarfile.open(fileobj=out, mode="w|") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, Path(folder.name) / path.relative_to(folder), recursive=False, filter=plain)
    return target


def zipped(folder: Path, target: Path) -> Path:
    """The folder as a .zip, for systems that open nothing else."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, Path(folder.name) / path.relative_to(folder))
    return target


def pack(folder: Path, out: Path) -> list[Path]:
    """The archives people of this system install from."""
    stem = f"{NAME}-{version()}-{sys.platform}-{platform.machine().lower()}"
    if sys.platform == "linux":
        return [tar_zst(folder, out / f"{stem}.tar.zst"), debian.package(folder, out, version())]
    made = [zipped(folder, out / f"{stem}.zip")]
    if sys.platform == "win32" and (inno := shutil.which("iscc")):
        script = HERE / "windows" / f"{NAME}.iss"
        subprocess.run([inno, f"/DVersion={version()}", f"/DFolder={folder}", f"/O{out}", str(script)], check=True)
        made += out.glob("*.exe")
    return made


def size(path: Path) -> float:
    """Megabytes on disk, links not followed."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file() and not one.is_symlink()]
    return sum(one.stat().st_size for one in files) / 1e6


def main() -> None:
    """Build, try, pack, and say how long and how large."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    shutil.rmtree(out / NAME, ignore_errors=True)
    began = time.monotonic()
    folder = freeze(out)
    print(f"built in {time.monotonic() - began:.0f} s")
    add_papers(folder)
    self_test(folder)
    for path in (folder, *pack(folder, out)):
        print(f"{path.name}: {size(path):.1f} MB")


if __name__ == "__main__":
    main()
