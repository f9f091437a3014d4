"""BPE and Unigram: the same in every process, as many pieces as asked for, every text in bytes, and better than no training."""

from __future__ import annotations

import doctest
import json
import math
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from bertdata.config import VocabConfig
from bertdata.errors import EmptyResultError
from bertdata.tokens import read, train, unigram
from bertdata.tokens.train import blank, count_words

TEXT = [
    "The ferry crossed the lower harbour while his sister measured the winter road, and nobody remembered the ferryman's lamp.",
    "Remembering is crossing; measuring measures. A miller remembers the mill, the milling and the millers of the marsh!",
    "茶树在海边。Été naïve. 1, 2, 12, 120 lamps",
]
CONFIGS = {
    "bpe": VocabConfig(model="bpe", size=420),
    "bpe bytes": VocabConfig(model="bpe", size=420, byte_fallback=True, alphabet=40),
    "unigram": VocabConfig(model="unigram", size=120),
    "unigram bytes": VocabConfig(model="unigram", size=400, byte_fallback=True, alphabet=30),
}
RUN = """
import json, random, sys
from bertdata.config import VocabConfig
from bertdata.tokens import train
told = json.load(sys.stdin)
found = []
for config, words in told:
    own = list(words.items())
    random.Random(sys.argv[1]).shuffle(own)
    found.append(train.train(dict(own), VocabConfig.of(config)).form)
print(json.dumps(found))
"""


def words_of(config: VocabConfig) -> Counter[str]:
    return count_words(TEXT * 3, blank(config))


@pytest.mark.parametrize("module", [train, read, unigram])
def test_doctests(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@pytest.mark.slow
def test_training_is_equal_in_every_process_and_order() -> None:
    told = json.dumps([(config.identity(), words_of(config)) for config in CONFIGS.values()])
    found = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TOKENIZERS_PARALLELISM": "true" if seed == "1" else "false"}
        done = subprocess.run([sys.executable, "-c", RUN, seed], input=told, env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert found == {json.dumps([train.train(words_of(config), config).form for config in CONFIGS.values()])}


@pytest.mark.parametrize("kind", CONFIGS)
def test_pieces_and_special_tokens(kind: str) -> None:
    config = CONFIGS[kind]
    made = train.train(words_of(config), config)
    assert made.pieces[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert len(set(made.pieces)) == len(made.pieces) <= config.size
    assert made.special[:5] == (0, 1, 2, 3, 4)
    library = made.tokenizer()
    for text in TEXT:
        ids = library.encode(text).ids
        assert (ids[0], ids[-1]) == (2, 3)
    if kind != "unigram":  # every text has ids without [UNK], and comes back
        for text in ["☃ tea ☃☃", "Ωmega"]:
            ids = library.encode(text, add_special_tokens=False).ids
            assert 1 not in ids and library.decode(ids).strip() == text
    else:
        assert 1 in library.encode("☃", add_special_tokens=False).ids


@pytest.mark.parametrize("kind", CONFIGS)
def test_where_a_paragraph_ends_is_no_unknown_piece(kind: str) -> None:
    """Without bytes, whitespace of any kind is a space; with them line feeds are pieces of their own."""
    config = CONFIGS[kind]
    made = train.train(words_of(config), config)
    library = made.tokenizer()
    apart, spaced = (library.encode(f"tea{between}tea", add_special_tokens=False) for between in ("\n\n", " "))
    assert made.special.unk not in apart.ids
    assert (apart.ids == spaced.ids) == (kind == "unigram")
    encoder = made.document_encoder()
    import pyarrow as pa

    ids, ends = encoder.encode_documents(pa.array([["tea", "tea"]]), pa.array([[0, 1]]))
    assert ids.tolist() == apart.ids and ends[-1] == len(ids)


@pytest.mark.parametrize("kind", CONFIGS)
def test_padding_and_further_tokens(kind: str) -> None:
    config = VocabConfig(**{**CONFIGS[kind].identity(), "pad_to_multiple_of": 64, "extra_tokens": ("<|one|>", "<|two|>")})
    made = train.train(words_of(config), config)
    assert len(made.pieces) % 64 == 0 and made.pieces[5:7] == ["<|one|>", "<|two|>"]
    unused = [i for i, piece in enumerate(made.pieces) if piece.startswith("[unused")]
    assert {5, 6, *unused} == set(made.special.others)
    library = made.tokenizer()
    assert library.encode("a<|two|>b").ids.count(6) == 1
    encoder = made.document_encoder()
    import pyarrow as pa

    ids, _ = encoder.encode_documents(pa.array([["a<|two|>b [unused1] [SEP]"]]), pa.array([[0]]))
    assert not set(ids.tolist()) & made.special.never  # in a text it is text


def test_no_word_is_an_error() -> None:
    for config in CONFIGS.values():
        with pytest.raises(EmptyResultError):
            train.train({}, config)


def test_unigram_finds_the_parts_of_words() -> None:
    """Words take few pieces, whole ones that are frequent a single one; and probabilities add up to one at most."""
    words = words_of(VocabConfig(model="unigram"))
    alphabet = sorted(set("".join(words)))
    found = dict(unigram.train(words, alphabet, len(alphabet) + 60))
    assert len(found) == len(alphabet) + 60 and set(alphabet) <= set(found)
    assert "▁the" in found
    total = math.fsum(math.exp(score) for score in found.values())
    assert 0.5 < total < 1 + 1e-3
    made = train.train(words, VocabConfig(model="unigram", size=len(found) + 5)).tokenizer()
    pieces = sum(len(made.model.tokenize(word)) * count for word, count in words.items())
    assert pieces < 0.6 * sum(len(word) * count for word, count in words.items())


def test_expected_counts_are_those_of_all_ways_by_hand() -> None:
    """aab with a .5, b .3, ab .2: a·a·b .075 and a·ab .1, so ab is expected 4/7 times a word."""
    known = {"a": 0, "b": 1}
    lattice = unigram._Lattice(unigram._Strings(["aab"], known), ["a", "b", "ab"], known)
    import numpy as np

    expected = lattice.expected(np.array([0.5, 0.3, 0.2]), np.array([7.0]))
    assert expected.tolist() == pytest.approx([1 * 7 + 3, 3, 4])
    assert lattice.forward(np.array([0.5, 0.3, 0.2]), np.maximum)[lattice.last].tolist() == pytest.approx([0.1])


def test_scores_are_in_order() -> None:
    config = CONFIGS["unigram"]
    found = unigram.train(words_of(config), sorted(set("".join(words_of(config)))), 100)
    assert all(one[1] >= other[1] for one, other in pairwise(found)) and len(found) == 100
