"""Rows of one document each: every token once in a copy, cut at ends of sentences wherever one is within reach."""

from __future__ import annotations

import doctest
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leaks import FIRST
from test_pairs import CLS, DOCUMENTS, LAW, SEP, Text, _build, _check_packed, _document_of, _plain, _text

from bertdata.rows import documents


def test_doctests() -> None:
    assert doctest.testmod(documents) == (0, 1)


def _parts(built: Any) -> list[list[int]]:
    """Return the rows as positions in the partition's tokens."""
    rows = [built.input_ids[s:e].tolist() for s, e in zip(built.ends[:-1].tolist(), built.ends[1:].tolist(), strict=True)]
    assert all(row[0] == CLS and row[-1] == SEP and min(row[1:-1]) >= FIRST for row in rows)
    return [[token - FIRST for token in row[1:-1]] for row in rows]


def test_worked_by_hand() -> None:
    """Room for 14: sentences of 5 and 6 share a row, 40 tokens are cut by themselves, and the rest takes the next sentence."""
    parts = sorted(_parts(_build(_plain([[5, 6, 40, 3], [2]]), 16, None, objective="documents")))
    assert [(part[0], part[-1] + 1) for part in parts] == [(0, 11), (11, 25), (25, 39), (39, 51), (51, 54), (54, 56)]


@LAW
@given(DOCUMENTS, st.integers(16, 64), st.integers(0, 5), st.integers(1, 3))
@pytest.mark.slow
def test_rows_are_of_one_document_and_use_every_token_once(documents: Any, length: int, seed: int, copies: int) -> None:
    text = _text(documents)
    built = _build(text, length, None, seed, objective="documents", dupe_factor=copies)
    parts = _parts(built)
    for part in parts:
        assert 1 <= len(part) <= length - 2 and part == list(range(part[0], part[-1] + 1))
        assert _document_of(text, part[0]) == _document_of(text, part[-1])
    _check_packed(text, built, Counter(t for part in parts for t in part), copies)
    if copies == 1:
        _check_cuts(text, parts, length - 2)


def _check_cuts(text: Text, parts: list[list[int]], room: int) -> None:
    """A row ends with a sentence unless the one it is in has no end within reach; between words unless a word fills it."""
    edges, total = text.partition.sentences, len(text.partition.tokens)
    for part in parts:
        start, end = part[0], part[-1] + 1
        reached = edges[(edges > start) & (edges <= start + room)]
        own = [edge for edge in reached.tolist() if _document_of(text, edge - 1) == _document_of(text, start)]
        assert not own or end == max(own)
        if not own and end < total and text.continues[end + FIRST]:
            assert len(part) == room and text.continues[start + 1 + FIRST : end + FIRST].all()
        if not own:
            following = text.continues[end + 1 + FIRST : start + room + 1 + FIRST]
            assert len(part) == room or following.all(), "no word that fits is left for the next row"


def test_further_copies_are_cut_elsewhere() -> None:
    text = _plain([[7] * 400] * 4)
    starts = [{part[0] for part in _parts(_build(text, 64, None, objective="documents", dupe_factor=n))} for n in (1, 2)]
    assert len(starts[1]) > 1.7 * len(starts[0])


def test_the_order_in_which_documents_stand_does_not_matter() -> None:
    sizes = [[3, 9], [40, 2], [7] * 9, [1]]
    one = _build(_plain(sizes), 16, None, objective="documents", dupe_factor=2)
    other = _build(_plain(sizes[::-1], [f"w:{i}" for i in (3, 2, 1, 0)]), 16, None, objective="documents", dupe_factor=2)
    assert np.diff(one.ends).tolist() == np.diff(other.ends).tolist()
