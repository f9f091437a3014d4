"""The commands of the tutorials run as they stand, one after the other, on the sample in place of a dump of Wikipedia."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import SAMPLE, read_manifest
from pages import DOCS, blocks, commands

from bertdata.cli import cli
from bertdata.dataset.shards import Shards

ELSEWHERE = ("download", "doctor")  # what needs a network; these have tests of their own
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
                shutil.copytree(place / "text" / "data", place / "converted")  # as if OpenCC had been there
            ran = CliRunner().invoke(cli, [*words, *(["--workers", "1"] if words[0] in WITH_WORKERS else [])])
            assert ran.exit_code == 0, f"{line}\n{ran.output}\n{ran.exception}"
            done.append(words[0])
    return done


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
    assert (tmp_path / "tiny" / "curve.svg").is_file()
    told = (DOCS / "tutorials" / "english-wikipedia.md").read_text(encoding="utf-8")
    assert f"corpus: {read_manifest(tmp_path / 'corpus')['rows']} documents" in told


@pytest.mark.slow
def test_chinese_wikipedia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jieba")
    monkeypatch.chdir(tmp_path)
    done = follow("chinese-wikipedia.md", tmp_path, less={})
    assert done == ["build-corpus", "export", "build-corpus", "train-vocab", "make-pairs", "make-pairs", "inspect"]
    assert set(read_manifest(tmp_path / "corpus")["sources"]["wikipedia"]["languages"]) == {"zh"}
    assert "continues_word" in Shards("pairs")[0] and "masked_lm_labels" in Shards("pairs-static")[0]
    (snippet,) = (block.text for block in blocks(DOCS / "tutorials" / "chinese-wikipedia.md") if block.language == "python")
    scope: dict[str, object] = {}
    exec(compile(snippet, "chinese-wikipedia.md", "exec"), scope)  # noqa: S102
    assert "batch" in scope
