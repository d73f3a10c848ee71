"""Qt's ICU data with less in it: loaded by the real Qt, it sorts and names as before where this program looks."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

ICU = runpy.run_path(str(Path(__file__).resolve().parents[2] / "packaging" / "icu.py"))
ASK = """
import json
from functools import cmp_to_key
from pathlib import Path
from PySide6.QtCore import QCollator, QDate, QDateTime, QLocale, QTimeZone
words = "张 李四 重庆 长城 abc Abd ä z 银行 行 10 9 Äpfel zebra é 一 二 十 龙 龍 臺灣 台湾 ö ñ llama luz".split()
said = {}
for name in ("zh_CN", "en_US", "zh_TW", "sv_SE", "de_DE", "es_ES", "ja_JP"):
    order = QCollator(QLocale(name))
    order.setNumericMode(True)
    said[name] = [
        sorted(words, key=cmp_to_key(order.compare)),
        QLocale(name).toUpper("straße i"),
        QLocale(name).toString(QDate(2026, 11, 30), QLocale.FormatType.LongFormat),
    ]
for zone in ("Asia/Shanghai", "Europe/Berlin", "America/New_York"):
    one = QTimeZone(zone.encode())
    said[zone] = [
        one.displayName(QTimeZone.TimeType.StandardTime, QTimeZone.NameType.LongName, QLocale(name))
        for name in ("zh_CN", "en_US")
    ]
    said[zone].append(one.offsetFromUtc(QDateTime(2026, 7, 1, 12, 0, 0)))
said["maps"] = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libicudata" in line]
print(json.dumps(said))
"""


def ask(preload: str = "") -> dict[str, list[object]]:
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"LD_PRELOAD": preload},
    )
    assert done.stderr == ""
    found: dict[str, list[object]] = json.loads(done.stdout)
    return found


def test_qt_sorts_and_names_as_before_with_a_fraction_of_the_data(tmp_path: Path) -> None:
    (whole,) = (Path(PySide6.__file__).parent / "Qt" / "lib").glob("libicudata.so.*")
    less = tmp_path / whole.name
    shutil.copy(whole, less)
    ICU["trim"](less)
    assert less.stat().st_size < whole.stat().st_size / 5
    before, after = ask(), ask(str(less))
    assert set(before.pop("maps")) == {str(whole)} and set(after.pop("maps")) == {str(less)}
    assert after == before
    assert before["zh_CN"][0] != before["en_US"][0]
    once = less.read_bytes()
    ICU["trim"](less)  # nothing is left to take away
    assert less.stat().st_size == len(once)


def test_what_is_no_such_library_is_refused_and_stays(tmp_path: Path) -> None:
    other = tmp_path / "libicudata.so.99"
    other.write_bytes(b"\x7fELF\x01" + bytes(5000))
    with pytest.raises(ValueError, match="64-bit"):
        ICU["trim"](other)
    with pytest.raises(ValueError, match="no package"):
        ICU["package"](bytes(100))
    assert other.read_bytes() == b"\x7fELF\x01" + bytes(5000)
