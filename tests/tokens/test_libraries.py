"""Rows do not depend on the library that encodes text: it may be missing, and it may be wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digests, read_manifest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import bertdata
from bertdata.stages.rows import encoding
from bertdata.tokens import encoder, engines

Make = Callable[[str], Path]


@pytest.fixture(scope="module")
def bpe(sample_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level BPE vocabulary of the sample."""
    output = tmp_path_factory.mktemp("bpe") / "vocab"
    return bertdata.train_vocab(sample_corpus, output=output, config=bertdata.VocabConfig(size=2000, model="bpe"), workers=1).path


@pytest.fixture(params=["wordpiece", "bpe"])
def make(request: pytest.FixtureRequest, sample_corpus: Path, sample_vocab: Path, bpe: Path, tmp_path: Path) -> Make:
    """Make rows in this process, with encoders of their own."""

    def run(name: str) -> Path:
        encoding._encoders.clear()
        config = bertdata.PairsConfig(max_seq_length=64) if request.param == "wordpiece" else PACKED
        vocab = sample_vocab if request.param == "wordpiece" else bpe
        bertdata.make_pairs(sample_corpus, vocab=vocab, output=tmp_path / name, config=config, workers=1)
        encoding._encoders.clear()
        return tmp_path / name

    return run


PACKED = bertdata.PairsConfig(max_seq_length=128, objective="documents", pack=True)


def test_same_bytes_without_the_fast_libraries(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = digests(make("with"))
    monkeypatch.setitem(sys.modules, "nanotoken", None)  # an import fails
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", None)
    assert digests(make("without")) == with_them


def test_characters_of_a_newer_unicode_have_the_ids_of_tokenizers() -> None:
    """U+0CDC is a letter in Unicode 17 and undefined in older versions, so a library may or may not join it with U+05CF."""
    pytest.importorskip("gigatoken")
    text = "\u0cdc\u05cf"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [f"{text} {text}"] * 9, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    plain = json.loads(tokenizer.to_str())
    assert engines.Gigatoken(plain, tokenizer)([text.encode()])[0].tolist() == tokenizer.encode(text).ids


def test_a_task_with_a_difference_is_encoded_by_tokenizers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is wrong about one word of the sample, which the check of the vocabulary does not find."""
    right = digests(make("right"))
    monkeypatch.setattr(encoder, "SAMPLE_STRIDE", 1)
    for engine in (engines.Nanotoken, engines.Gigatoken):
        monkeypatch.setattr(engine, "__call__", _wrong_about("barque named the Constance", engine.__call__))
    with pytest.warns(UserWarning, match="gave other ids than `tokenizers`.*barque named the Constance"):
        wrong = make("wrong")
    found = digests(wrong)
    names = [name for name in right if name.startswith("data/") or "vocab" in name or name == "tokenizer.json"]
    assert names and {name: found[name] for name in names} == {name: right[name] for name in names}
    assert read_manifest(wrong)["different_ids"]["tasks"] == 1
    bertdata.verify(wrong)


def _wrong_about(text: str, call: Any) -> Any:
    def encode(engine: Any, texts: list[bytes]) -> tuple[Any, Any]:
        encoded = call(engine, texts)
        ids = encoded.ids
        wrong = np.where(np.isin(ids, ids[-1:]), ids[0], ids)
        return encoded._replace(ids=wrong) if any(text.encode() in each for each in texts) else encoded

    return encode
