"""Pin every package again: `uv run python packaging/lock.py`.

Writes requirements.lock (versions and hashes, no index address) and the same versions as constraints into
pyproject.toml, because `uv run` reads only the latter.
"""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START, END = "\n# pinned by packaging/lock.py\n", "# end of pins\n"
COMPILE = (
    "uv pip compile pyproject.toml --group dev --output-file requirements.lock --universal --python-version 3.12"
    " --upgrade --generate-hashes --quiet --no-header --no-annotate --no-emit-index-url --no-emit-find-links"
)
PIN = re.compile(r"^[A-Za-z0-9_.-]+==[^\\\n]+", re.M)


def pins(lock: str) -> list[str]:
    """The `name==version ; marker` lines of a lock file."""
    return [line.strip() for line in PIN.findall(lock)]


def constraints(lock: str) -> str:
    """The block of pyproject.toml that makes `uv run` take the locked versions."""
    lines = "".join(f"  {json.dumps(pin)},\n" for pin in pins(lock))
    return f"{START}[tool.uv]\nconstraint-dependencies = [\n{lines}]\n{END}"


def main() -> None:
    project, lock = ROOT / "pyproject.toml", ROOT / "requirements.lock"
    before = project.read_text()
    head, _, rest = before.partition(START)
    tail = rest.partition(END)[2]
    project.write_text(head + tail)  # old pins would otherwise hold the new ones
    try:
        subprocess.run(COMPILE.split(), cwd=ROOT, check=True)
    except BaseException:
        project.write_text(before)
        raise
    project.write_text(head + constraints(lock.read_text()) + tail)


if __name__ == "__main__":
    main()
