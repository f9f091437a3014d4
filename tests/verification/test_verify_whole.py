"""Whole datasets of every kind, format, objective and mask are found to be as they were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, Run

from bertdata.verification import Result, verify

PAIRS: dict[str, list[Any]] = {
    "nsp": ["--provenance", "--validation-fraction", 0.2, "--dupe-factor", 3, "--shards", 3],
    "sop": ["--objective", "sop", "--provenance", "--dupe-factor", 2],
    "documents": ["--objective", "documents", "--dupe-factor", 2, "--validation-fraction", 0.1, "--max-seq-length", 16],
    "packed": ["--objective", "documents", "--pack", "--dupe-factor", 2, "--validation-fraction", 0.1, "--shards", 2],
    "documents of rows": ["--objective", "documents", "--provenance"],
    "documents of parts": ["--objective", "documents", "--pack", "--provenance", "--dupe-factor", 2],
    "packed nsp": ["--pack", "--provenance", "--masking", "static", "--whole-word", "--chinese-words", "jieba"],
    "packed sop": ["--objective", "sop", "--pack", "--provenance"],
    "packed causal": ["--objective", "causal", "--pack", "--provenance", "--dupe-factor", 2],
    "full-sentences": ["--objective", "documents", "--provenance", "--dupe-factor", 2, "--validation-fraction", 0.1],
    "causal": ["--objective", "causal", "--provenance", "--dupe-factor", 2, "--shards", 2],
    "pieces": ["--masking", "static", "--dupe-factor", 2, "--max-predictions", 7],
    "words": ["--masking", "static", "--whole-word", "--chinese-words", "jieba"],
    "full sentences": ["--masking", "static", "--whole-word", "--objective", "documents", "--masked-lm-prob", 0.4],
    "flags": ["--chinese-words", "jieba", "--max-seq-length", 32],
}


def whole(directory: Path, **options: Any) -> Result:
    """Verify a dataset, in which nothing is wrong."""
    found = verify(directory, **options)
    assert found.problems == [] and found.notes == []
    return found


def test_documents_with_rejects_and_drops(build: Build, text: Path, tmp_path: Path) -> None:
    lines = text.read_text(encoding="utf-8").splitlines()
    lines[3] = lines[3][:-2]  # no JSON
    lines[8] = json.dumps({"title": "few letters", "text": "12.5 17.25 8 1 94 33"})
    lines[9] = lines[10]  # a duplicate
    (tmp_path / "text.jsonl").write_text("\n".join(lines))
    options = ["--text", tmp_path / "text.jsonl", "--sample-documents", 300, "--task-bytes", 65536]
    found = whole(build("build-corpus", tmp_path / "corpus", *options))
    assert (found.kind, found.rows) == ("documents", 300)
    made = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    assert made["rejects"] and made["drops"] and made["counts"][0]["dropped"]["sample"] > 50
    assert found.files == 2 + sum(len(made[name]) for name in ("shards", "rejects", "drops"))
    described = made["card"]["bytes"]
    assert found.bytes == sum(path.stat().st_size for path in (tmp_path / "corpus").glob("[!.]*/*")) + described


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_every_form(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, name: str) -> None:
    found = whole(build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab, *PAIRS[name]))
    assert found.kind == "pairs" and found.rows > 100


@pytest.mark.parametrize("options", [["--layout", "bert", "--size", 3000], ["--cased"]])
def test_vocabularies(build: Build, sample_corpus: Path, tmp_path: Path, options: list[Any]) -> None:
    vocab = build("train-vocab", tmp_path / "vocab", sample_corpus, *options)
    assert whole(vocab).kind == "vocabulary"
    whole(build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", vocab))


def test_processes_find_what_one_does(build: Build, text: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", text, "--task-bytes", 65536)
    seen: list[tuple[int, int]] = []
    assert whole(corpus, workers=2, progress=lambda done, of: seen.append((done, of))) == whole(corpus, workers=1)
    total = sum(path.stat().st_size for path in (corpus / "data").iterdir())
    assert len(seen) > 2 and seen[-1] == (total, total) and sorted(seen) == seen


def test_the_command(run: Run, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path) -> None:
    done = run("verify", sample_corpus, sample_vocab, sample_pairs)
    corpus, vocab, pairs = done.stdout.splitlines()
    assert "documents, 5 files, 61 rows" in corpus and "vocabulary, 4 files" in vocab and "rows, " in pairs
    assert all("all as written" in line and "/s)" in line for line in (corpus, vocab, pairs)) and done.stderr == ""
