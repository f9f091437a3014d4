"""Megatron's indexed files: a reader written from the format's description finds each sentence's ids, document by document."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import Build, digests, read_rows
from tokenizers import Tokenizer

import bertdata
from bertdata.dataset.shards import DocumentBatch
from bertdata.errors import UsageError
from bertdata.exports import FORMATS
from bertdata.exports.base import Shard
from bertdata.records import Document
from bertdata.tally import Tally
from bertdata.tokens.vocab import SPECIAL, from_tokens


def read_megatron(directory: Path) -> list[list[list[int]]]:
    found = []
    for path in sorted(directory.glob("*_text_sentence.idx")):
        index, ids = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        assert index[:9] == b"MMIDIDX\0\0"
        version, code, sentences, documents = struct.unpack_from("<QBQQ", index, 9)
        assert version == 1
        kind = {8: np.dtype("<u2"), 4: np.dtype("<i4")}[code]
        lengths = np.frombuffer(index, "<i4", sentences, 34)
        offsets = np.frombuffer(index, "<i8", sentences, 34 + 4 * sentences)
        bounds = np.frombuffer(index, "<i8", documents, 34 + 12 * sentences)
        assert len(index) == 34 + 12 * sentences + 8 * documents and bounds[0] == 0 and bounds[-1] == sentences
        assert len(ids) == lengths.sum() * kind.itemsize and (lengths > 0).all()
        rows = [np.frombuffer(ids, kind, n, at).tolist() for n, at in zip(lengths, offsets, strict=True)]
        found += [rows[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return found


def test_the_ids_are_those_of_tokenizers(parts: Path, build: Build, tmp_path: Path) -> None:
    corpus, vocab = parts / "build-corpus", parts / "train-vocab"
    one = build("export", tmp_path / "one", corpus, "--to", "megatron", "--vocab", vocab)
    two = bertdata.export(corpus, to="megatron", vocab=vocab, output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path)
    tokenizer = Tokenizer.from_file(str(vocab / "tokenizer.json"))
    wanted = [[tokenizer.encode(s, add_special_tokens=False).ids for s in row["sentences"]] for row in read_rows(corpus)]
    assert read_megatron(one / "data") == wanted and len(wanted) == two.rows
    assert not bertdata.verify(one, workers=1).problems


def test_what_has_no_piece_is_dropped_and_counted_and_large_ids_take_four_bytes(tmp_path: Path) -> None:
    texts = ["Tea.", "\u200b", "Cup."], ["\u200b"], ["Cup."]
    batch = DocumentBatch()
    for text in texts:
        batch.add(Document("1", "text", "en", "", "", text, [0]))
    vocabulary = from_tokens([*SPECIAL, *(f"w{number}" for number in range(65600)), "tea", "cup", "."], True, True)
    tally = Tally("documents")
    shard = Shard(tmp_path, 0, "data/train-00000-of-00001", {}, vocabulary, iter([batch.take()]), tally)
    assert [entry.name[-3:] for entry in FORMATS["megatron"].write(shard)] == ["bin", "idx"]
    assert read_megatron(tmp_path / "data") == [[[65605, 65607], [65606, 65607]], [[65606, 65607]]]
    assert tally.dropped == Counter({"no pieces": 1})


def test_it_needs_a_vocabulary(parts: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`vocab`: megatron stores token ids. Pass the vocabulary"):
        bertdata.export(parts / "build-corpus", to="megatron", output=tmp_path / "out")
