"""The commands of the tutorials run as they stand, one after the other, on the sample in place of a dump of Wikipedia."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import apache_beam as beam
import pytest
from click.testing import CliRunner
from conftest import SAMPLE, read_manifest, read_rows
from pages import DOCS, blocks, commands

from bertdata.cli import cli
from bertdata.dataset.rows import Shards

pytestmark = pytest.mark.nightly

ELSEWHERE = ("download", "doctor")  # what needs a network; these have tests of their own
CONVERTED = "corpus-simplified"
WITH_WORKERS = ("build-corpus", "train-vocab", "make-pairs", "export")


def follow(name: str, place: Path, *, less: dict[str, str]) -> list[str]:
    """Run the commands of a tutorial in a directory with the sample; `less` has what is replaced, as the sample is small."""
    path = DOCS / "tutorials" / name
    (place / "dumps").mkdir()
    for dump in SAMPLE.glob("*.bz2"):
        shutil.copy(dump, place / "dumps")
    shutil.copytree(SAMPLE / "books", place / "books")
    text = "\n".join(block.text for block in blocks(path) if block.language == "")
    for old, new in less.items():
        assert old in text, old
        text = text.replace(old, new)
    done = []
    for line in commands(text):
        words = shlex.split(line)[1:]
        if words[0] not in ELSEWHERE:
            if words[0] == "build-corpus" and "--text" in words:
                row = {"title": "歷史", "text": "歷史學家每天喝茶，也讀書。", "language": "zh", "licence": "CC0"}
                (place / "text" / "data" / "added.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
                run_python(path, "opencc")
            ran = CliRunner().invoke(cli, [*words, *(["--workers", "1"] if words[0] in WITH_WORKERS else [])])
            assert ran.exit_code == 0, f"{line}\n{ran.output}\n{ran.exception}"
            done.append(words[0])
            if words[:2] == ["inspect", "pairs-static"]:
                shown = "".join(path.read_text(encoding="utf-8").partition("  masked:")[2].partition("```")[0].split())
                assert shown in "".join(ran.output.split()), ran.output
    return done


def run_python(path: Path, word: str) -> dict[str, object]:
    """Run the one snippet of Python of a page that has this word; return its names."""
    (snippet,) = (block.text for block in blocks(path) if block.language == "python" and word in block.text)
    scope: dict[str, object] = {}
    exec(compile(snippet, path.name, "exec"), scope)  # noqa: S102
    return scope


@pytest.mark.slow
def test_english_wikipedia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (toml,) = (block.text for block in blocks(DOCS / "tutorials" / "english-wikipedia.md") if block.language == "toml")
    (tmp_path / "tiny.toml").write_text(re.sub(r"(?m)^(batch_size|steps) = \d+", r"\1 = 2", toml), encoding="utf-8")
    less = {"--validation-fraction 0.01": "--validation-fraction 0.2", "--max-seq-length 512": "--max-seq-length 256"}
    less |= {"pairs-512": "pairs-256"}
    done = follow("english-wikipedia.md", tmp_path, less=less)
    assert done == ["build-corpus", "inspect", "inspect", "train-vocab", "make-pairs", "inspect", "verify", "train"]
    assert (tmp_path / "tiny" / "report.html").is_file()
    told = (DOCS / "tutorials" / "english-wikipedia.md").read_text(encoding="utf-8")
    assert f"corpus: {read_manifest(tmp_path / 'corpus')['rows']} documents" in told


@pytest.mark.slow
def test_chinese_wikipedia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jieba")
    pytest.importorskip("opencc")
    monkeypatch.chdir(tmp_path)
    done = follow("chinese-wikipedia.md", tmp_path, less={})
    assert done == ["build-corpus", "export", "build-corpus", "train-vocab", "make-pairs", "make-pairs", "inspect"]
    assert set(read_manifest(tmp_path / "corpus")["sources"]["wikipedia"]["languages"]) == {"zh"}
    assert "continues_word" in Shards("pairs")[0] and "masked_lm_labels" in Shards("pairs-static")[0]
    assert "batch" in run_python(DOCS / "tutorials" / "chinese-wikipedia.md", "MaskConfig")
    (added,) = (row for row in read_rows(Path(CONVERTED)) if row["title"].endswith("史"))
    assert (added["title"], added["sentences"]) == ("历史", ["历史学家每天喝茶，也读书。"])
    assert len(read_rows(Path(CONVERTED))) == len(read_rows(Path("corpus"))) + 1
    card = (tmp_path / CONVERTED / "README.md").read_text(encoding="utf-8")
    assert "| text | CC0 | 1 |" in card and "| text | CC BY-SA, as the wiki states | 1 |" in card
    assert "is by the contributors of their pages" in card and "may also have been changed before" in card


def test_the_chinese_page_has_the_same_commands() -> None:
    """The commands of the tutorial run above, so those of docs/zh/tutorial.md run too."""
    english, chinese = (blocks(DOCS / name) for name in ("tutorials/chinese-wikipedia.md", "zh/tutorial.md"))
    runs = [[line for block in page for line in commands(block.text)] for page in (english, chinese)]
    assert runs[1] == [*runs[0], "bertdata verify corpus vocab pairs"]
    assert [block for block in english if block.language == "python"] == [b for b in chinese if b.language == "python"]
    assert [block for block in english if "[MASK]" in block.text] == [block for block in chinese if "[MASK]" in block.text]


@pytest.mark.long
def test_beam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline in Python, the commands after it, and the pipeline in YAML."""
    yaml = pytest.importorskip("yaml")
    from apache_beam.yaml import yaml_transform

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["pipeline"])  # whose options Beam reads
    (tmp_path / "dumps").mkdir()
    for dump in SAMPLE.glob("*.bz2"):
        shutil.copy(dump, tmp_path / "dumps")
    shutil.copytree(SAMPLE / "books", tmp_path / "books")
    path = DOCS / "tutorials" / "beam.md"
    run_python(path, "WriteDocuments")
    dropped = [stage["dropped"] for stage in read_manifest(tmp_path / "corpus")["counts"]]
    assert dropped[0]["too short"] > 0 and dropped[0]["redirect"] > 0
    for line in commands("\n".join(block.text for block in blocks(path) if block.language == "")):
        ran = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert ran.exit_code == 0, f"{line}\n{ran.output}\n{ran.exception}"
    (text,) = (block.text for block in blocks(path) if block.language == "yaml")
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        spec = yaml.load(text, Loader=yaml_transform.SafeLineLoader)
        yaml_transform.expand_pipeline(pipeline, spec, validate_schema="none")
    assert {row["language"] for row in read_rows(Path("english-books"))} == {"en"}
