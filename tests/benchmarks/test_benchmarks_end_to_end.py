"""The benchmark of a whole run: its slopes and verdict by hand, and the dump it makes."""

from __future__ import annotations

import bz2
import re
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import end_to_end  # noqa: E402
from grow import Dump, join_dumps, write_dump  # noqa: E402


def _page(number: int) -> bytes:
    return b"<page><title>Tea %d</title><id>%d</id></page>\n" % (number, number)


def test_a_slope_is_what_the_added_gigabytes_took_and_only_two_stages_count(capsys: pytest.CaptureFixture[str]) -> None:
    once = {"bz2 alone": 30.0, "build-corpus": 82.0, "train-vocab": 900.0, "make-pairs": 42.0}
    more = {"bz2 alone": 90.0, "build-corpus": 242.0, "train-vocab": 2900.0, "make-pairs": 162.0}
    rows = [{"corpus": 10, "pairs": 20}, {"corpus": 30, "pairs": 60}]
    sizes = [1_000_000_000, 3_000_000_000]
    assert end_to_end._report(sizes, [once, more], rows) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in lines[2:6]] == [["30.0", "33.3"], ["80.0", "12.5"], ["1000.0", "1.0"], ["60.0", "16.7"]]
    assert lines[-1].startswith("PASS: build-corpus and make-pairs take 140.0 CPU seconds")
    assert end_to_end._report(sizes, [once, {**more, "make-pairs": 184.0}], rows) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("FAIL: build-corpus and make-pairs take 151.0 CPU seconds")


def test_dumps_are_joined_under_ids_of_their_own_and_packed_in_streams_of_pages(tmp_path: Path) -> None:
    one, two = Dump(b"<mediawiki>\n", [_page(3), _page(9)], 0), Dump(b"<other>\n", [_page(3)], 0)
    joined = join_dumps([one, two], 2)
    size = write_dump(joined, tmp_path / "tea.xml.bz2", 3)
    data, streams = (tmp_path / "tea.xml.bz2").read_bytes(), []
    while data:
        decompressor = bz2.BZ2Decompressor()
        streams.append(decompressor.decompress(data))
        data = decompressor.unused_data
    assert [stream.count(b"<page>") for stream in streams] == [0, 2, 2, 2, 2, 1, 0]
    assert (streams[0], streams[-1], size) == (b"<mediawiki>\n", b"</mediawiki>\n", sum(map(len, streams)))
    ids = [int(found) for found in re.findall(rb"<id>(\d+)</id>", b"".join(streams))]
    assert ids[:3] == [3, 9, 13]
    assert len(set(ids)) == len(ids) == 9
