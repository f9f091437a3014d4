"""Nothing but the text tells the label: of eight seeds, the mean AUC of each fact and of a fitted classifier is 0.5 +- 0.015."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, Build
from leaks import SEEDS, Auc, leaks, partitions_of
from test_pairs import _text

from bertdata.rows import Partition, chunks, sentence_pairs
from bertdata.rows.partition import Ints

LIMIT = 0.015
DATA = Path(os.environ.get("BERTDATA_TEST_DATA") or REPOSITORY.parent / "shared" / "data")


def check(found: dict[str, Auc]) -> None:
    """Report each AUC with its standard error. A fitted classifier may be worse than chance, because that tells nothing."""
    print(*(f"{name:40} {value.mean:.4f} +- {value.error:.4f}" for name, value in found.items()), sep="\n")
    assert all(abs(value.mean - 0.5) <= LIMIT for value in found.values()), found


@pytest.fixture(scope="module")
def small() -> list[list[Partition]]:
    """For each seed, 20 partitions of 20 documents, in words of one to five tokens."""
    samples = []
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        sizes = [random.lognormal(2.9, 0.6, random.integers(10, 120)).clip(1, 100).astype(int) for _ in range(400)]
        documents = [[random.geometric(0.75, count).clip(1, 5).tolist() for count in counts.tolist()] for counts in sizes]
        samples.append([_text(documents[first : first + 20]).partition for first in range(0, 400, 20)])
    return samples


@pytest.mark.parametrize("length", [128, 512])
@pytest.mark.slow
def test_small_partitions(small: list[list[Partition]], length: int) -> None:
    check(leaks(small, length))


@pytest.mark.parametrize("length", [128, pytest.param(512, marks=pytest.mark.long)])
@pytest.mark.slow
def test_five_languages(length: int) -> None:
    """In each partition 60 documents of one language, and 12 of each of four others, whose sentences and words are longer."""
    samples = []
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        partitions = []
        for _ in range(4):
            groups = np.repeat(np.arange(5), [60, 12, 12, 12, 12])
            documents = [
                [
                    random.geometric(0.8 - 0.15 * group, count).clip(1, 9).tolist()
                    for count in random.lognormal(2.6 + 0.2 * group, 0.6, random.integers(10, 120)).clip(1, 100).astype(int)
                ]
                for group in groups.tolist()
            ]
            partition = _text(documents).partition
            partition.groups = groups
            partitions.append(partition)
        samples.append(partitions)
    check(leaks(samples, length))


@pytest.fixture(scope="module")
def sample(
    build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[list[Partition]]:
    with pytest.MonkeyPatch.context() as patch:
        return [partitions_of(sample_corpus, sample_vocab, tmp_path_factory.mktemp("rows") / "rows", 1, patch)]


@pytest.mark.parametrize("length", [128, 512])
def test_the_sample(sample: list[list[Partition]], length: int) -> None:
    check(leaks(sample, length, dupe_factor=4))


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}")
@pytest.mark.parametrize("languages", ["one", "all"])
@pytest.mark.filterwarnings("ignore:the vocabulary does not fit", "ignore:.*not in any row")
def test_wikipedia_and_books(build: Build, tmp_path: Path, languages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki = [DATA / "wiki"] if languages == "all" else sorted((DATA / "wiki").glob("*enwiki*.xml.bz2"))
    corpus = build("build-corpus", tmp_path / "corpus", *(word for path in wiki for word in ("--wikipedia", path)))
    vocab = build("train-vocab", tmp_path / "vocab", corpus, "--size", 8000)
    partitions = [partitions_of(corpus, vocab, tmp_path / "rows", 4, monkeypatch)]
    for length in (128, 512):
        check(leaks(partitions, length))


def _shorter(partition: Partition, own: chunks.Chunks, matches: Ints, max_tokens: int) -> chunks.Chunks:
    """Cut both Bs of a match to the shorter one, at a word."""
    lengths, end = (own.end - own.cut)[matches], own.end.copy()
    longer = matches[np.arange(len(matches)), lengths.argmax(1)]
    cut = partition.word_start(own.cut[longer] + lengths.min(1))
    end[longer] = np.minimum(end[longer], np.maximum(partition.next_word(own.cut[longer] + 1), cut))
    return own._replace(end=end)


@pytest.mark.parametrize("rule", [_shorter, lambda partition, own, matches, max_tokens: own], ids=["both shorter", "no cut"])
def test_rejected_rules_fail(sample: list[list[Partition]], rule: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The law is sharp enough to find other ways to cut Bs, which leak."""
    monkeypatch.setattr(sentence_pairs, "_cut_matches", rule)
    with pytest.raises(AssertionError):
        check(leaks(sample, 128, dupe_factor=4))
