"""benchmarks/scale.py: the corpus it grows, its table, verdict and picture by hand, and a small run of the real commands."""

from __future__ import annotations

import bz2
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import REPOSITORY, SAMPLE

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import measured  # noqa: E402
import scale  # noqa: E402
from grow import Dump, pages, read_dump, wiki, write_dump  # noqa: E402
from measured import Run  # noqa: E402
from measured_forks import fork_commands  # noqa: E402
from ratios import FILE  # noqa: E402

MB = 1_000_000
PROSE = "Tea number {0} is a drink that people make of leaves and hot water. Its name has {0} letters in many an old language."


def page(number: int, text: str) -> bytes:
    return f"<page><title>Tea {number}</title><id>{number}</id><text>\n{text}\n</text></page>\n".encode()


def sentences(found: list[bytes]) -> list[str]:
    return re.findall(r"(?:Tea number|Its name)[^.]*\.", b"".join(found).decode())


def test_grown_pages_hold_the_same_sentences_elsewhere() -> None:
    dump = Dump(b"<mediawiki>\n", [page(number, PROSE.format(number)) for number in range(1, 41)], 10)
    grown = list(pages(dump, 3))
    assert grown[:40] == dump.pages
    assert len({re.sub(rb"<title>.*</id>", b"", each) for each in grown}) == 120, "no page has the text of another"
    assert len(set(re.findall(rb"<title>[^<]*", b"".join(grown)))) == len(set(re.findall(rb"<id>\d+", b"".join(grown)))) == 120
    for copy in (grown[40:80], grown[80:]):
        assert sorted(sentences(copy)) == sorted(sentences(dump.pages))
    assert list(pages(dump, 3)) == grown


def test_markup_stays_where_it_is() -> None:
    """Sentences with half of a template, a link or a tag, and lines that are no prose, are in their place in every copy."""
    kept = [
        "{{Infobox tea\n| name = Tea that is long enough to be taken for a line of prose, were it not for the bar\n}}",
        "* A list with a line that is long enough to be taken for a line of prose, were it not for the star.",
        "It has {{convert|3. Of|kg}} leaves, &lt;ref&gt;A source. Another one of them&lt;/ref&gt; of [[Camellia|tea. Or]] not.",
        "[[File:Tea.jpg|thumb|A picture of tea. It is long enough to be taken for a line of prose, were it not.]]",
    ]
    dump = Dump(b"", [page(number, PROSE.format(number) + "\n" + "\n".join(kept)) for number in range(1, 9)], 0)
    for each in list(pages(dump, 2))[8:]:
        text = each.decode()
        assert all(line in text for line in kept[:2])
        assert text.count("{{") == text.count("}}") == 2
        assert text.count("[[") == text.count("]]") == 2
        assert text.count("&lt;ref&gt;") == text.count("&lt;/ref&gt;") == 1
        assert kept[3] in text


def test_the_sample_grows_into_whole_pages_of_its_wikis(tmp_path: Path) -> None:
    for path in sorted(SAMPLE.glob("*multistream.xml.bz2")):
        dump = read_dump(path)
        size = write_dump(dump, tmp_path / path.name, 3)
        data = bz2.decompress((tmp_path / path.name).read_bytes())
        assert len(data) == size
        found = ElementTree.fromstring(data)
        assert len(list(found.iter())) > 0
        assert data.count(b"<page>") == 3 * len(dump.pages)
        assert wiki(dump) in ("en.sample.example", "zh.sample.example")


def rows(command: str, workers: int, seconds: list[float], peaks: list[int]) -> list[scale.Row]:
    sizes = [(1, 10.0), (4, 40.0), (16, 160.0)]
    made = []
    for (size, mb), took, peak in zip(sizes, seconds, peaks, strict=True):
        run = Run(took, took * workers, (200 if workers > 1 else peak) * MB, [peak * MB] * workers if workers > 1 else [])
        made.append(scale.Row(command, size, workers, mb, run))
    return made


GOOD = [
    *rows("build-corpus", 1, [4, 10, 34], [200, 204, 208]),  # 2 seconds, and 0.2 for each MB
    *rows("build-corpus", 2, [4, 7, 18], [200, 204, 208]),
    *rows("make-pairs", 1, [3, 6, 18], [300, 310, 320]),
]


def test_what_scales_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert scale.judge(GOOD) == []
    said = capsys.readouterr().out
    assert said.startswith("build-corpus: 2.18 times as fast with 2 workers, 1.89 with start-up; asked: 1.8")
    lines = scale.table(GOOD).splitlines()
    told = [" ".join(line.split()) for line in lines]
    assert told[4] == "build-corpus 16x 1 160.0 34.00 34.00 4.71 208.0 208.0 0.2000 1.000 1.040"
    assert told[5] == "start-up 2.00 s, then 5.0 MB/s"
    assert told[8] == "build-corpus 16x 2 160.0 18.00 36.00 8.89 200.0 208.0 0.0917 0.917 1.040 1.89"


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (rows("build-corpus", 1, [4, 10, 37], [200, 204, 208]), "the last MB take 1.125 times the seconds"),
        (rows("train-vocab", 1, [4, 10, 34], [200, 204, 221]), "train-vocab with 1 worker: the driver holds 1.105 times"),
        (rows("make-pairs", 2, [3, 4, 9], [200, 204, 221]), "make-pairs with 2 workers: the worker holds 1.105 times"),
        (rows("make-pairs", 2, [3, 5, 12.5], [200, 204, 208]), "make-pairs with 2 workers: 1.60 times as fast"),
    ],
)
def test_what_does_not_scale_is_named(wrong: list[scale.Row], fault: str) -> None:
    names = {(row.command, row.workers) for row in wrong}
    faults = scale.judge([*(row for row in GOOD if (row.command, row.workers) not in names), *wrong])
    assert any(fault in each for each in faults), faults


def test_what_the_machine_can_do_is_told_and_excuses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    slow = [*GOOD[:-1], GOOD[-1]._replace(apart=22.5), *rows("make-pairs", 2, [3, 5, 12.5], [200, 204, 208])]
    assert scale.judge(slow) != []
    assert "(two separate runs at once get 1.60 times as much done as one)" in capsys.readouterr().out


def test_the_picture_has_a_line_for_each_command_and_number_of_workers() -> None:
    root = ElementTree.fromstring(scale.picture(GOOD))
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 6
    assert sum("stroke-dasharray" in line.attrib for line in lines) == 4
    assert all(len(line.attrib["points"].split()) == 3 for line in lines)


@pytest.mark.slow
def test_a_command_that_fails_ends_the_benchmark_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"ended with exit code 2:\n(?s:.*)nowhere"):
        measured.run(["build-corpus", "--wikipedia", str(tmp_path / "nowhere.xml.bz2"), "--output", str(tmp_path / "corpus")])


@pytest.mark.slow
def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample, by the real commands, at one and two workers: the same bytes, and figures of each process."""
    fork_commands(monkeypatch)
    picture = tmp_path / "scale.svg"
    monkeypatch.setenv(FILE, str(tmp_path / "ratios"))
    code = scale.main(
        [
            "--base-mb",
            "0.4",
            "--sizes",
            "1",
            "--repeats",
            "1",
            "--vocab-size",
            "500",
            "--picture",
            str(picture),
            "--work",
            str(tmp_path),
        ]
    )
    said = capsys.readouterr().out
    assert code in (0, 1), "so small a run may not scale"
    assert "the bytes differ" not in said
    found = [line.split() for line in said.splitlines() if re.match(r"[a-z-]+ +\d+x", line)]
    expected = [[command, "1x", str(workers)] for command in scale.COMMANDS for workers in (1, 2)]
    assert [line[:3] for line in found] == expected
    for _, _, workers, mb, seconds, cpu, _, driver, worker, *_ in found:
        assert float(mb) > 0.3
        assert 0 < float(cpu) < 60 * float(seconds)
        assert 50 < float(driver) < 1000
        assert (driver == worker) == (workers == "1")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ratios", "scale.svg"]
    told = [json.loads(line) for line in (tmp_path / "ratios").read_text().splitlines()]
    assert [one["what"] for one in told] == [f"{command}, two workers, start-up included" for command in scale.JUDGED]
