"""The picture of a report that README shows is made by a script, and is as large as the script makes it."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from pages import DOCS, hook

pytestmark = pytest.mark.long

picture = hook("picture")


def size(path: Path) -> tuple[int, ...]:
    """Return width and height of a PNG: its header says them in bytes 16 to 24 (PNG specification, 11.2.1)."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_the_picture_has_the_size_of_the_script() -> None:
    assert size(DOCS / "report.png") == (picture.WIDTH, picture.HEIGHT)


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, picture.BROWSERS)), reason="needs Chromium: apt-get install chromium")
def test_a_page_is_drawn(sample_pairs: Path, tmp_path: Path) -> None:
    picture.draw(sample_pairs / "report.html", tmp_path / "page.png", 600, 300)
    assert size(tmp_path / "page.png") == (600, 300)
    assert (tmp_path / "page.png").stat().st_size > 5_000, "it is not blank"
