"""Accidents that a user's inputs and directories have end in a clear error or a counted reject."""

from __future__ import annotations

import bz2
import json
import re
import shutil
from pathlib import Path

import pytest
from calling import call
from conftest import SAMPLE, digests, read_manifest, read_rows

DUMP = SAMPLE / "sampleenwiki-20261101-pages-articles-multistream.xml.bz2"


@pytest.mark.parametrize(("at", "code", "says"), [(100, 2, "damaged at its beginning"), (-1, 3, "damaged-stream")])
def test_a_damaged_dump_is_not_called_done(tmp_path: Path, at: int, code: int, says: str) -> None:
    """One reject may stand for most of the dump, so the lost bytes count as well. At 100, the header is damaged."""
    data = bytearray(DUMP.read_bytes() if at > 0 else bz2.compress(bz2.decompress(DUMP.read_bytes()), compresslevel=1))
    data[at if at > 0 else 3 * len(data) // 4] ^= 0x40
    (tmp_path / "dump.xml.bz2").write_bytes(data)
    done = call("build-corpus", "--wikipedia", tmp_path / "dump.xml.bz2", "--output", tmp_path / "out", "--workers", 1)
    assert done.code == code and says in done.err
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_damaged_stream_among_many_costs_its_pages(tmp_path: Path) -> None:
    data = bytearray(DUMP.read_bytes())
    starts = [i for i in range(len(data)) if data[i : i + 10].startswith(b"BZh91AY&SY")]
    data[(starts[2] + starts[3]) // 2] ^= 0x40
    (tmp_path / "dump.xml.bz2").write_bytes(data)
    options = ("--max-rejects", 0.5, "--workers", 1)
    assert call("build-corpus", "--wikipedia", tmp_path / "dump.xml.bz2", "--output", tmp_path / "out", *options).code == 0
    (stage,) = read_manifest(tmp_path / "out")["counts"]
    assert stage["rejected"] == {"damaged-stream": 1}
    assert stage["in"] == 56 - 10 + 1, "the ten pages of one stream, and the reject in their place"
    where = json.loads(next((tmp_path / "out" / "rejects").iterdir()).read_text())["where"]
    first, last = map(int, re.findall(r"(\d+)-(\d+)", where)[0])
    assert abs(first - starts[2]) <= 4 and abs(last - starts[3]) <= 4


def test_an_output_inside_the_input_is_not_read(text: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(text, docs / "text.jsonl")
    (docs / "bad.jsonl").write_text('{"text": \n')
    arguments = ["build-corpus", "--text", docs, "--output", docs / "out", "--workers", 1]
    assert call(*arguments).code == 0
    before = digests(docs / "out")
    assert call(*arguments, "--overwrite").code == 0 and digests(docs / "out") == before


def test_broken_data_is_not_vouched_for(sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, tmp_path: Path) -> None:
    pairs = shutil.copytree(sample_pairs, tmp_path / "pairs")
    (pairs / "data" / "train-00000-of-00001.arrow").unlink()
    made = ["make-pairs", sample_corpus, "--vocab", sample_vocab, "--output", pairs, "--provenance", "--workers", 1]
    for arguments in (["inspect", pairs], made):
        done = call(*arguments)
        assert done.code == 6 and "missing or cut" in done.err
    corpus = shutil.copytree(sample_corpus, tmp_path / "corpus")
    shard = sorted((corpus / "data").iterdir())[0]
    shard.write_bytes(shard.read_bytes().replace(b" the ", b" teh ", 1))
    for more in (["train-vocab", corpus, "--size", 900], ["make-pairs", corpus, "--vocab", sample_vocab]):
        done = call(*more, "--output", tmp_path / "out", "--workers", 1)
        assert done.code == 6 and shard.name in done.err


def test_a_dump_twice_gives_no_twin_rows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(DUMP, tmp_path / name / DUMP.name)
    inputs = ("--wikipedia", tmp_path / "a", "--wikipedia", tmp_path / "b")
    shown = call("build-corpus", *inputs, "--output", tmp_path / "corpus", "--workers", 1).out
    assert "47 documents in 2 shards" in shown and "repeated id 47" in shown
    call("build-corpus", "--wikipedia", DUMP, "--output", tmp_path / "once", "--workers", 1)
    assert read_rows(tmp_path / "corpus") == read_rows(tmp_path / "once")
