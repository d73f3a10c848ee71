"""The .deb: the frozen folder below /usr/lib, launcher, entry, icons, AppStream data, and a step at removal."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from PySide6.QtGui import QGuiApplication

from desktop.icons import BASE_SIZES, app_icon

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "hypatia-companion"
MORE_SIZES = (128, 256)
CONTROL = """\
Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: Hypatia Companion <hypatia-companion@localhost>
Installed-Size: {kib}
Section: utils
Priority: optional
Depends: {depends}
Recommends: gnome-keyring | kwalletmanager
Description: long-term memory for coding agents
 Reads the session logs that coding agents leave on disk, hides secrets, and records the conversations in a memory
 that the agents can read back. Runs in the system tray.
"""


def depends() -> str:
    """What packaging/debian-packages.txt lists for windows, and the C library of the system it is built on."""
    listed = (HERE / "debian-packages.txt").read_text("utf-8").partition("# What the desktop tests need")[0]
    names = [line for line in listed.splitlines() if line and not line.startswith("#")]
    # From Debian 13 on GLib's package has another name.
    names = ["libglib2.0-0 | libglib2.0-0t64" if name == "libglib2.0-0" else name for name in names]
    return ", ".join([f"libc6 (>= {os.confstr('CS_GNU_LIBC_VERSION').split()[1]})", *names])


def icons(share: Path) -> None:
    """The program's icon as SVG and in every size of the icon theme."""
    app = QGuiApplication.instance() or QGuiApplication([NAME])
    assert app is not None
    for size in (*BASE_SIZES, *MORE_SIZES):
        target = share / "icons" / "hicolor" / f"{size}x{size}" / "apps" / f"{NAME}.png"
        target.parent.mkdir(parents=True)
        app_icon().pixmap(size, size).toImage().save(str(target))
    target = share / "icons" / "hicolor" / "scalable" / "apps" / f"{NAME}.svg"
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "resources" / "icons" / "resting.svg", target)


def tree(folder: Path, root: Path) -> None:
    """Everything the package installs, below `root`."""
    program, share = root / "usr" / "lib" / NAME, root / "usr" / "share"
    shutil.copytree(folder, program, symlinks=True)
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / NAME).symlink_to(f"../lib/{NAME}/{NAME}")
    for source, target in (
        (HERE / "linux" / f"{NAME}.desktop", share / "applications"),
        (HERE / "linux" / f"{NAME}.metainfo.xml", share / "metainfo"),
    ):
        target.mkdir(parents=True)
        shutil.copy(source, target)
    icons(share)
    papers = share / "doc" / NAME
    papers.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", papers / "copyright")
    for name in ("THIRD-PARTY-LICENSES.txt", "sbom.cdx.json", "CHANGELOG.md"):
        shutil.move(program / name, papers / name)


def package(folder: Path, out: Path, version: str) -> Path:
    """Write the .deb of a frozen folder; returns its path."""
    architecture = subprocess.run(
        ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
    ).stdout.strip()
    target = out / f"{NAME}_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "root")
        tree(folder, root)
        kib = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()) // 1024
        control = root / "DEBIAN"
        control.mkdir()
        fields = {"name": NAME, "version": version, "architecture": architecture, "kib": kib, "depends": depends()}
        (control / "control").write_text(CONTROL.format(**fields), "utf-8")
        shutil.copy(HERE / "linux" / "prerm", control / "prerm")
        (control / "prerm").chmod(0o755)
        for path in root.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        build = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(target)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return target
