"""Every benchmark runs on tiny input and tells its ratios; the table, the picture and the check of them by hand."""

from __future__ import annotations

import doctest
import json
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import REPOSITORY
from forking import trainers

BENCHMARKS = REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import all as runner  # noqa: E402
import bars  # noqa: E402
from inputs import Inputs  # noqa: E402
from measured_forks import fork_commands  # noqa: E402
from ratios import FILE, Ratio, ratio  # noqa: E402

# They search, estimate, or have a bound of their own; scale_model is a part of ten_terabytes.
NO_RATIO = {"enwiki", "fuzz", "kills", "memory", "scale_model", "tasks", "ten_terabytes"}
COMMANDS = {"end_to_end", "near_copies", "training"}  # these run commands
APART = """
import os, runpy, sys
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
THREADS = {"loader", "training"}  # these set how many torch has
ELSEWHERE = {"scale", "step"}  # test_benchmark_scale.py and test_step_benchmark.py run these, and read their ratios


def test_each_file_that_runs_is_a_benchmark_with_sizes() -> None:
    runs = {path.stem for path in BENCHMARKS.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")}
    assert runs - {"all"} - set(runner.benchmarks()) == NO_RATIO, "give it SIZES and a call of `ratio`, or a place in NO_RATIO"
    for name, sizes in runner.benchmarks().items():
        assert set(sizes) <= {"tiny", "small", "full"} and {"tiny", "full"} <= set(sizes), name
        assert "ratio(" in (BENCHMARKS / f"{name}.py").read_text(encoding="utf-8"), name


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path) -> Inputs:
    made = {"corpus": sample_corpus, "vocab": sample_vocab, "pairs": sample_pairs}
    return Inputs("tiny", tmp_path_factory.mktemp("inputs"), **made)


@pytest.fixture
def threads() -> Iterator[None]:
    """Let torch have as many threads afterwards as before."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("default")  # those of transformers are not ours
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in {*COMMANDS, "store"} else ())
        for name in sorted(set(runner.benchmarks()) - ELSEWHERE)
    ],
)
def test_it_runs_on_tiny_input(
    name: str, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """So little input may miss what is asked for: exit code 1; a peer that is not installed has no row."""
    if name in THREADS:
        request.getfixturevalue("threads")
    fork_commands(monkeypatch)
    for line in runner.benchmarks()[name]["tiny"]:
        words = runner.command(name, line, inputs)
        if name == "store":  # it changes its environment
            process = trainers().start(words, Path.cwd(), {**os.environ, FILE: str(tmp_path / "ratios")}, APART)
            assert process.wait(100) in (0, 1), process.communicate()
            continue
        monkeypatch.setenv(FILE, str(tmp_path / "ratios"))
        monkeypatch.setattr(sys, "argv", words)
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            assert end.code in (0, 1, None), end.code
    told = runner.read(tmp_path / "ratios")
    peers = {"extraction": "mwparserfromhell", "languages": "py3langid"}
    if name in peers:
        pytest.importorskip(peers[name])
    assert told
    assert all(0 < one.times < 1e6 and one.what and one.peer and one.unit for one in told)


def row(benchmark: str, what: str, ours: list[float], theirs: list[float], **more: Any) -> dict[str, Any]:
    told = {"unit": "MB/s", "peer": "other", "less": False, "size": "small", "date": "2026-11-01", "machine": "2 cores"}
    return {"benchmark": benchmark, "what": what, "ours": ours, "theirs": theirs, **told, **more}


ROWS = [
    row("tokens", "new text", [20.0, 22.0, 18.0], [4.0, 4.0, 6.0]),
    row("tokens", "known words", [40.0] * 3, [4.0] * 3),
    row("step", "a step", [50.0] * 3, [100.0] * 3, unit="ms", less=True, date="2026-11-02"),
]


def test_the_table_has_the_middle_and_the_spread_of_ratios_and_not_of_figures() -> None:
    lines = runner.table(ROWS).splitlines()
    assert lines[2] == "| new text (MB/s) | 20 | other 4 | 5 (3 to 5.5) |"
    assert lines[4] == "| a step (ms, less is better) | 50 | other 100 | 2 (2 to 2) |"
    assert [line.split(": ")[0] for line in lines[6:]] == ["`tokens`", "`step`"]
    assert "2026-11-02 at size small on 2 cores; the middle of 3 runs" in lines[7]


def test_the_picture_has_a_bar_for_each_row_and_none_leaves_it() -> None:
    rows = [*ROWS, row("pairs", "slow & odd", [1.0], [400.0])]
    root = ElementTree.fromstring(bars.picture("A title", "a note", [runner.better(one) for one in rows]))
    boxes = list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
    assert len(boxes) == 4
    assert all(float(box.attrib["x"]) > 0 and float(box.attrib["x"]) + float(box.attrib["width"]) < bars._WIDTH for box in boxes)
    assert [box.attrib["fill"] for box in boxes] == [bars._BETTER] * 3 + [bars._WORSE]
    assert float(boxes[1].attrib["width"]) > float(boxes[0].attrib["width"]) > float(boxes[2].attrib["width"])


def test_runs_of_one_row_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE, raising=False)
    ratio("nobody asks", 1, "s", "x", 1)
    monkeypatch.setenv(FILE, str(tmp_path / "ratios"))
    for ours in (3.0, 4.0):
        ratio("fast", ours, "MB/s", "x", 2)
        ratio("small", ours, "MB", "x", 2, less=True)
    ratio("nothing", 0, "s", "x", 2)
    assert runner.read(tmp_path / "ratios")[0] == Ratio("fast", 3.0, "MB/s", "x", 2)
    found = runner.gathered(runner.read(tmp_path / "ratios"))
    assert [(one["what"], one["ours"], one["theirs"], one["less"]) for one in found] == [
        ("fast", [3.0, 4.0], [2, 2], False),
        ("small", [3.0, 4.0], [2, 2], True),
    ]
    assert runner.read(tmp_path / "none") == []
    assert doctest.testmod(runner).failed == 0


def test_check_names_what_is_stale_and_render_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "HERE", tmp_path / "benchmarks")
    monkeypatch.setattr(runner, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(runner, "benchmarks", lambda: {"tokens": {}, "step": {}})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "benchmarks.json").write_text(json.dumps(ROWS))
    (tmp_path / "docs" / "benchmarks.svg").write_text("")
    (tmp_path / "docs" / "benchmarks.md").write_text("a\n<!-- benchmarks: all -->\nold\n<!-- /benchmarks -->\nz\n")
    monkeypatch.setattr(runner, "SHOWN", {("a step", "other"): "一步"})
    monkeypatch.setattr(runner, "CHINESE", {"a step": "一步", "ms": "毫秒"})
    (tmp_path / "README.md").write_text("<!-- benchmarks: readme -->\n<!-- /benchmarks -->\n")
    (tmp_path / "README.zh-CN.md").write_text("<!-- benchmarks: chinese -->\n<!-- /benchmarks -->\n")
    assert runner.main(["--check"]) == 1
    told = {line.split(": ")[1] for line in capsys.readouterr().out.splitlines()}
    assert told == {"README.md", "README.zh-CN.md", os.path.join("docs", "benchmarks.md"), os.path.join("docs", "benchmarks.svg")}
    assert runner.main(["--render"]) == 0
    assert runner.main(["--check"]) == 0
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert text == f"a\n<!-- benchmarks: all -->\n{runner.table(ROWS)}\n<!-- /benchmarks -->\nz\n"
    readme = (tmp_path / "README.md").read_text()
    assert "known words" in text and "known words" not in readme and "| a step (ms, less is better) | 50 |" in readme
    assert "| 一步 (毫秒, less is better) | 50 | other 100 | 2 (2 to 2) |" in (tmp_path / "README.zh-CN.md").read_text()


@pytest.mark.slow
def test_the_tables_of_the_repository_are_those_of_what_was_measured() -> None:
    assert runner.main(["--check"]) == 0, "python benchmarks/all.py --render"
    rows = runner.shown(runner._known())
    assert len(rows) == len(runner.SHOWN), "README shows a row that was not measured"
    chinese = (REPOSITORY / "README.zh-CN.md").read_text(encoding="utf-8").partition("<!-- benchmarks")[2]
    for text in ("README.md", "README.zh-CN.md"):
        assert "benchmarks: " in (REPOSITORY / text).read_text(encoding="utf-8")
    untold = [row["what"] for row in rows if row["what"] in chinese]
    assert not untold and " to " not in chinese.partition("/benchmarks")[0], "benchmarks/readme.py has no Chinese for it"
