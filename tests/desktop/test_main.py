"""The one command: tray without arguments, command line with them; missing libraries are named before Qt aborts."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from desktop.libraries import ALWAYS, ON_WAYLAND, ON_X11, missing_sentence
from desktop.resources import resource
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {
        key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    return subprocess.run(
        [sys.executable, "-m", "desktop.main", *arguments], capture_output=True, text=True, cwd=ROOT, env=env | environ
    )


def test_without_a_screen_it_says_so_and_ends() -> None:
    done = run()
    assert done.returncode == 1
    assert done.stderr.startswith("No screen was found.")
    assert "Traceback" not in done.stderr


def test_arguments_go_to_the_command_line_and_load_no_qt() -> None:
    code = (
        "import sys; sys.argv = ['hypatia-companion', '--help']\n"
        "from desktop.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'PySide6' not in sys.modules and 'qasync' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: hypatia-companion" in done.stdout


def absent(*names: str):
    def load(name: str) -> None:
        if name in names:
            raise OSError(f"{name}: cannot open shared object file")

    return load


def test_pyside_reads_no_source_of_what_is_imported() -> None:
    code = (
        "import linecache; from desktop import plain_imports;"
        "plain_imports.take_back(); import desktop.app, desktop.companion, engine.app;"
        "print(sorted(path for path in linecache.cache if 'desktop' in path or 'engine' in path))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_missing_library_is_named_with_its_package() -> None:
    env = {"DISPLAY": ":0"}
    assert missing_sentence(env, "linux", absent()) == ""
    sentence = missing_sentence(env, "linux", absent("libxcb-cursor.so.0", "libEGL.so.1"))
    assert sentence.endswith("sudo apt install libegl1 libxcb-cursor0")


def test_each_platform_needs_its_own_libraries() -> None:
    x11 = [name for name, _ in ON_X11]
    assert missing_sentence({"WAYLAND_DISPLAY": "wayland-0"}, "linux", absent(*x11)) == ""
    assert missing_sentence({"QT_QPA_PLATFORM": "offscreen"}, "linux", absent(*x11)) == ""
    wayland = [name for name, _ in ON_WAYLAND]
    assert "libwayland-cursor0" in missing_sentence({"WAYLAND_DISPLAY": "wayland-0"}, "linux", absent(*wayland))
    assert missing_sentence({"DISPLAY": ":0"}, "linux", absent(*wayland)) == ""
    assert "libxcb-shape0" in missing_sentence({"DISPLAY": ":0"}, "linux", absent(*x11))
    everything = [name for name, _ in ALWAYS + ON_X11]
    assert missing_sentence({}, "darwin", absent(*everything)) == ""
    assert missing_sentence({}, "win32", absent(*everything)) == ""


def test_this_machine_has_them_all() -> None:
    assert missing_sentence({"DISPLAY": ":0"}, "linux") == ""


def test_the_packages_it_names_are_those_that_ci_installs() -> None:
    listed = (ROOT / "packaging" / "debian-packages.txt").read_text("utf-8").split()
    assert {package for _, package in ALWAYS + ON_X11 + ON_WAYLAND} <= set(listed)


def test_resources_are_found_in_source_and_put_into_the_wheel() -> None:
    assert resource("icons", "resting.svg").is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"] == {"resources": "desktop/_resources"}


def test_resources_are_found_in_an_installed_copy(tmp_path: Path) -> None:
    """The layout of the wheel, unpacked: `_resources` beside the modules."""
    archive = tmp_path / "copy.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in (ROOT / "desktop" / "__init__.py", ROOT / "desktop" / "resources.py"):
            target.write(path, f"site/desktop/{path.name}")
        target.write(ROOT / "resources" / "icons" / "resting.svg", "site/desktop/_resources/icons/resting.svg")
    with zipfile.ZipFile(archive) as source:
        source.extractall(tmp_path)
    code = "from desktop.resources import resource; print(resource('icons', 'resting.svg').read_text()[:4])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path / "site",
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
    )
    assert (done.returncode, done.stdout.strip()) == (0, "<svg")


async def test_why_no_window_opens_is_also_told_where_no_terminal_is(tmp_path: Path) -> None:
    code = "from desktop.libraries import tell; tell('Install it again.')"
    async with real_desktop(tmp_path, panel=False) as desktop:
        teller = await desktop.desk.start(sys.executable, "-c", code)
        assert await teller.process.wait() == 0

        async def shown() -> bool:
            return desktop.notifications() == [("Hypatia Companion", "Install it again.")]

        await eventually(shown)
        desktop.desk.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent/bus"
        without = await desktop.desk.start(sys.executable, "-c", code)
        assert await without.process.wait() == 0
