"""What a user gets wrong ends with a message that names the option and the fix, and with the documented exit code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from calling import call
from conftest import COMMAND

BUILD = ["build-corpus", "--output", "{tmp}/x"]
PAIRS = ["make-pairs", "{corpus}", "--vocab", "{vocab}", "--output", "{tmp}/x"]
CASES = [
    (["build-corpus"], 2, "--output"),
    (BUILD, 2, "nothing to read. Pass --wikipedia or "),
    ([*BUILD, "--wikipedia", "{tmp}/none*.bz2"], 2, "no regular file found"),
    ([*BUILD, "--wikipedia", "{tmp}/a.pdf"], 2, "has no supported format"),
    ([*BUILD, "--wikipedia", "{tmp}/a.xml"], 2, "not a MediaWiki export"),
    ([*BUILD, "--wikipedia", "{tmp}/pipe.xml"], 2, "regular file"),
    ([*BUILD, "--wikipedia", "{tmp}/own"], 2, "thesis.txt has no supported format: use --books"),
    ([*BUILD, "--text", ""], 2, "--text: the name is empty"),
    (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", ""], 2, "a path is empty"),
    (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/a.jsonl"], 5, "is a file"),
    (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/own", "--overwrite"], 5, "bertdata did not write"),
    (["build-corpus", "--text", "{tmp}/a.jsonl", "--output", "{tmp}/a.jsonl/x"], 4, "not a directory"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--max-rejects", "2"], 2, "--max-rejects"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--max-rejects", "nan"], 2, "--max-rejects is nan: expected a number"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--max-words", "1__0"], 2, "--max-words 1__0: write a number"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--mix", "text=nan"], 2, "--mix text=nan: write each source once"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--max-page-bytes", str(10**21)], 2, "--max-page-bytes"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--task-bytes", "9"], 2, "--task-bytes is 9: use 65,536 or more"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--text-column", ""], 2, "--text-column: empty"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--text-column", "txet"], 3, "set --text-column to one of 'text'"),
    ([*BUILD, "--text", "{tmp}/t.parquet"], 2, "has no column 'text' for the text: set --text-column to one of 'body', 'id'"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--templates", "{tmp}/a.xml"], 2, "--templates does nothing without --wikipedia"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--languages", "english"], 2, "--languages: 'english' is not a language code. Use en"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--language", "germann"], 2, "Did you mean de (German)"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--exclude", "{tmp}/none"], 2, "--exclude {tmp}/none: no such file"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--map", "json:nothing"], 2, "--map json:nothing: cannot import it"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "--min-characters", "999"], 3, "Change --min-characters to keep more"),
    ([*BUILD, "--text", "{tmp}/a.jsonl", "stray"], 2, "unexpected argument 'stray'"),
    ([*BUILD, "--languages", "en", "zh"], 2, "an option takes one value. Quote globs"),
    ([*BUILD, "--text", "{tmp}/bad.jsonl"], 3, "--max-rejects"),
    ([*BUILD, "--text", "{tmp}/empty.jsonl"], 3, "none of 1 record became a document (empty 1"),
    ([*BUILD, "--config", "{tmp}/x"], 2, "--config"),
    (["train-vocab", "{tmp}/none", "--output", "{tmp}/x"], 2, "is not a directory"),
    (["train-vocab", "{tmp}/own", "--output", "{tmp}/x"], 2, "no bertdata dataset"),
    (["train-vocab", "{corpus}", "--output", "{tmp}/x", "--size", "3"], 2, "--size"),
    (["make-pairs", "{corpus}", "--vocab", "{tmp}/none", "--output", "{tmp}/x"], 2, "No such file or directory"),
    (["make-pairs", "{corpus}", "--vocab", "", "--output", "{tmp}/x"], 2, "a path is empty"),
    (["make-pairs", "{vocab}", "--vocab", "{vocab}", "--output", "{tmp}/x"], 2, "contains a vocabulary, not a corpus"),
    ([*PAIRS, "--max-seq-length", "9"], 2, "--max-seq-length"),
    ([*PAIRS, "--max-seq-length", "128,512"], 2, "'128,512' is not a valid integer"),
    ([*PAIRS, "--objective", "nps"], 2, "'nsp'"),
    ([*PAIRS, "--masking", "static", "--mask-shares", "nan/50/50"], 2, "--mask-shares nan/50/50: use three shares"),
    ([*PAIRS, "--workers", "0"], 2, "--workers"),
    ([*PAIRS, "--", "--runner=Nope"], 2, "Nope"),
    (["export", "{corpus}", "--to", "mds", "--output", "{tmp}/x"], 2, "a corpus, which mds cannot hold. Use --to jsonl"),
    (["train", "{tmp}/own", "--output", "{tmp}/x"], 2, "own is a directory: pass a file, such as"),
    (["download", "wikipedia", "--language", "chinese", "--output", "{tmp}/x"], 2, "Use zh"),
    (["inspect", "{tmp}/own"], 2, "no bertdata dataset"),
    (["verify", ""], 2, "a path is empty"),
]


@pytest.mark.parametrize(("arguments", "code", "says"), CASES, ids=lambda value: "-".join(value) if type(value) is list else "")
def test_errors_name_the_fix(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine")
    (tmp_path / "a.xml").write_text("<html></html>")
    (tmp_path / "a.pdf").write_text("%PDF")
    (tmp_path / "a.jsonl").write_text('{"text": "One sentence. Another sentence."}\n')
    (tmp_path / "bad.jsonl").write_text('{"text": "One sentence. Another sentence."}\n{"text": \n')
    (tmp_path / "empty.jsonl").write_text("")
    pq.write_table(pa.table({"body": ["A kettle sings."], "id": ["a"]}), tmp_path / "t.parquet")
    os.mkfifo(tmp_path / "pipe.xml")
    paths: dict[str, Any] = {"tmp": tmp_path, "corpus": sample_corpus, "vocab": sample_vocab}
    done = call(*(argument.format(**paths) for argument in arguments))
    assert (done.code, done.out) == (code, "")
    assert says.format(**paths) in done.err
    assert (tmp_path / "own" / "thesis.txt").read_text() == "mine"


def test_an_error_is_one_line_of_one_style(tmp_path: Path) -> None:
    for arguments, code in (
        (["--nothing"], 2),
        (["build-corpus", "--text", str(tmp_path / "x"), "--output", str(tmp_path / "y")], 2),
    ):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("bertdata: error: ") and done.stderr.count("\n") == 1


def test_without_a_command_the_help_is_shown() -> None:
    assert subprocess.run(COMMAND, capture_output=True, text=True, check=False).stderr.startswith("Usage: bertdata")
