"""Documents exchange text only within their group, and half of each group's pairs are NotNext."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.config import PairsConfig
from bertdata.pieces import Special
from bertdata.rows import Pairs, Partition, build

CLS, SEP, FIRST = 2, 3, 10
SPECIAL = Special(pad=0, unk=1, cls=2, sep=3, mask=-1, others=(), mark="##")
LAW = settings(deadline=None, max_examples=30)


def partition(sizes: list[tuple[int, int]], variants: Any = None, tokens: Any = None) -> Partition:
    """Make documents of so many sentences of ten tokens, each of a group."""
    counts = np.array([count for count, _ in sizes], np.int64)
    sentences = np.arange(counts.sum() + 1) * 10
    ids = np.arange(FIRST, FIRST + sentences[-1], dtype=np.uint32) if tokens is None else tokens
    documents = np.append(0, np.cumsum(counts))
    names = [f"w:{number}" for number in range(len(sizes))]
    groups = np.array([group for _, group in sizes], np.int64)
    return Partition(ids, np.zeros(len(ids), bool), sentences, documents, names, groups, variants)


def pairs(made: Partition, **options: Any) -> Pairs:
    built = build(made, PairsConfig(max_seq_length=32, **options), SPECIAL)
    for tally in built.tallies:
        tally.check()
    return built


def by_group(made: Partition, built: Pairs) -> dict[int, tuple[int, int]]:
    """Return pairs and NotNext pairs of each group; no pair may join two."""
    assert made.groups is not None and built.labels is not None
    a, b = made.groups[built.a_documents], made.groups[built.b_documents]
    assert (a == b).all()
    return {group: (int((a == group).sum()), int(built.labels[a == group].sum())) for group in np.unique(a).tolist()}


@LAW
@given(
    st.lists(st.tuples(st.integers(3, 40), st.integers(0, 3)), min_size=12, max_size=40),
    st.integers(0, 9),
    st.integers(1, 4),
    st.booleans(),
)
@pytest.mark.slow
def test_exactly_half_of_each_group(sizes: Any, seed: int, copies: int, pack: bool) -> None:
    sizes = [*sizes, *[(9, group) for group in range(4) for _ in range(4)]]  # so that every group has four chunks
    made = partition(sizes)
    built = pairs(made, seed=seed, dupe_factor=copies, pack=pack)
    found = by_group(made, built)
    assert sorted(found) == [0, 1, 2, 3]
    assert all(2 * ones == count for count, ones in found.values()), found


def test_a_document_without_a_partner_is_dropped_and_counted() -> None:
    made = partition([(30, 1), (4, 2), (200, 3), (4, 3), *[(12, 0)] * 30])
    built = pairs(made)
    documents, chunks, tokens = built.tallies
    found = by_group(made, built)
    assert sorted(found) == [0, 3], "one document of a group has no partner"
    assert documents.dropped["no-partner"] == 2 and documents.left == 32
    count, ones = found[3]
    assert (count, ones) == (4, 2), "a long document among few keeps as many chunks as find partners"
    assert chunks.dropped["no-partner"] > 60 and tokens.dropped["no-partner"] > 1800


def test_nothing_but_lone_documents_gives_no_rows() -> None:
    built = pairs(partition([(30, 1), (30, 2), (30, 3)]))
    assert built.labels is not None and len(built.labels) == 0
    assert built.tallies[0].dropped["no-partner"] == 3 and built.tallies[0].left == 0


def test_one_group_is_as_without_groups() -> None:
    made = partition([(20, 7)] * 20)
    plain = Partition(made.tokens, made.continues, made.sentences, made.documents, made.ids)
    for one, other in zip(pairs(made, seed=3)[:7], pairs(plain, seed=3)[:7], strict=True):
        assert (one is None and other is None) or one.tolist() == other.tolist()


def test_chunks_of_one_script_variant_are_matched_where_documents_mix_both() -> None:
    """Sentences are simplified or traditional, 25 at a time: a NotNext pair joins two variants hardly more often than IsNext."""
    variants = np.zeros(FIRST + 2, np.int8)
    variants[FIRST:] = -1, 1
    random = np.random.default_rng(2)
    runs = [np.repeat(random.integers(0, 2), 250) for _ in range(400)]
    tokens = (np.concatenate(runs) + FIRST).astype(np.uint32)
    shares = []
    for signs in (variants, None):
        made = partition([(100, 0)] * 100, signs, tokens)
        built = pairs(made)
        assert built.labels is not None
        ids = built.input_ids.astype(int)
        starts = built.ends[:-1]
        b = np.add.reduceat(built.token_type_ids, starts, dtype=np.int64)
        one, other = ids[starts + 1], ids[built.ends[1:] - b]
        differ = one != other
        shares.append([differ[built.labels == label].mean() for label in (0, 1)])
    assert abs(shares[0][1] - shares[0][0]) < 0.01, shares
    assert shares[1][1] - shares[1][0] > 0.3, "without variants it tells the label"
