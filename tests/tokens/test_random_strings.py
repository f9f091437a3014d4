"""nanotoken, gigatoken and the memo of words give the ids of `tokenizers`: on all real text at hand, and on random strings."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bertdata.config import VocabConfig
from bertdata.pieces import bare
from bertdata.tokens import train, vocab
from bertdata.tokens.engines import Engine, Exact, same_engines
from bertdata.tokens.memo import Memo

pytestmark = pytest.mark.long
STRINGS, LENGTH = 400_000, 24  # random strings for each kind of vocabulary, and their mean length in characters
# First and last characters, and how often: ASCII, Latin, Greek to Hebrew, Indic, Thai to Korean, marks, CJK, emoji, all.
BLOCKS = (
    *((0x20, 0x7E, 6), (0xA0, 0x24F, 2), (0x370, 0x6FF, 2), (0x900, 0xDFF, 2), (0xE00, 0x11FF, 1), (0x300, 0x36F, 1)),
    *(
        (0x2000, 0x206F, 2),
        (0x3000, 0x30FF, 1),
        (0x4E00, 0x9FFF, 1),
        (0xAC00, 0xD7A3, 1),
        (0x1F300, 0x1FAFF, 1),
        (0, 0x10FFFF, 1),
    ),
)
KINDS = {
    "uncased": VocabConfig(size=8000, lowercase=True, strip_accents=True),
    "cased": VocabConfig(size=8000, lowercase=False, strip_accents=False),
    "bpe": VocabConfig(size=8000, model="bpe"),
    "uncased, memo": VocabConfig(size=8000, lowercase=True, strip_accents=True),
    "bpe, memo": VocabConfig(size=8000, model="bpe"),
    "unigram": VocabConfig(size=8000, model="unigram"),
    "unigram, bytes": VocabConfig(size=8000, model="unigram", byte_fallback=True),
}


@pytest.fixture(scope="module")
def real(shared: Path) -> list[str]:
    """All sentences and paragraphs of the pages, books and treebanks at hand, in every language."""
    texts = []
    for path in sorted((shared / "extraction").glob("dev_*.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                texts += row.get("paragraphs", row.get("sentences", []))
    return [text for text in texts if isinstance(text, str)]


@pytest.fixture(scope="module", params=KINDS)
def engines(request: pytest.FixtureRequest, real: list[str]) -> tuple[Engine, Engine]:
    """The fast engine of a vocabulary trained on a tenth of the text, and `tokenizers`."""
    config = KINDS[request.param]
    if config.model == "wordpiece":
        blank = vocab.Vocabulary(list(vocab.SPECIAL), bool(config.lowercase), bool(config.strip_accents))
        made: vocab.Vocabulary = vocab.train(vocab.parts_to_words(vocab.count_parts(real[::10]), blank.tokenizer()), config)
    else:
        made = train.train(train.count_words(real[::10], train.blank(config)), config)
    words = [bare(piece, made.special.mark) for piece in made.pieces]
    fast = same_engines(made.tokenizer(), words, *([Memo] if "memo" in request.param else made.document_encoder().kinds))
    return fast[0], Exact(made.tokenizer())


def compare(engines: tuple[Engine, Engine], texts: list[str]) -> None:
    found, expected = (engine([text.encode() for text in texts]) for engine in engines)
    parts = 3 if isinstance(engines[0], Memo) else 2  # tokens of gigatoken may end inside a character
    if not all(map(np.array_equal, found[:parts], expected[:parts])):
        fast, exact = engines
        raise AssertionError(
            ascii(next(text for text in texts if not np.array_equal(fast([text.encode()])[0], exact([text.encode()])[0])))
        )


def random_strings(seed: int, count: int) -> Iterator[list[str]]:
    """Yield batches of random strings; most characters of a string are of one block."""
    random = np.random.default_rng(seed)
    bounds = np.array([(first, last) for first, last, times in BLOCKS for _ in range(times)])
    for _ in range(0, count, 10_000):
        lengths = random.geometric(1 / LENGTH, 10_000)
        own = np.repeat(random.integers(0, len(bounds), 10_000), lengths)
        block = bounds[np.where(random.random(len(own)) < 0.2, random.integers(0, len(bounds), len(own)), own)]
        codes = random.integers(block[:, 0], block[:, 1] + 1)
        codes[(codes >= 0xD800) & (codes < 0xE000)] = 0x20  # no character
        text = codes.astype("<u4").tobytes().decode("utf-32-le")
        edges = np.cumsum([0, *lengths]).tolist()
        yield [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]


def test_real_text(engines: tuple[Engine, Engine], real: list[str]) -> None:
    assert sum(map(len, real)) > 5_000_000
    for start in range(0, len(real), 10_000):
        compare(engines, real[start : start + 10_000])


def test_random_strings(engines: tuple[Engine, Engine]) -> None:
    for batch in random_strings(1, STRINGS):
        compare(engines, batch)
