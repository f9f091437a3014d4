"""Packed rows: the parts are the rows that would be there without packing, each once, and no two rows fit in one."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leaks import FIRST, auc
from test_pairs import DOCUMENTS, LAW, NOT_NEXT, SEP, _build, _check, _document_of, _plain, _text

from bertdata.config import OBJECTIVES
from bertdata.rows import Pairs, statistics

pack = importlib.import_module("bertdata.rows.pack")
best_fit = pack.best_fit


def test_doctests() -> None:
    assert doctest.testmod(pack) == (0, 1)


def _apart(packed: Pairs) -> Pairs:
    """The parts of packed rows as rows."""
    assert packed.parts is not None
    return packed._replace(ends=packed.parts, parts=None)


@LAW
@given(st.lists(st.integers(1, 50), max_size=80))
def test_best_fit_is_what_a_search_of_all_rows_finds(sizes: list[int]) -> None:
    """Each goes, the longest first, where it leaves the least room; of rows with as much room the last one."""
    found, room = best_fit(sizes, 50), list[int]()
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        fitting = [left for left in room if left >= sizes[part]]
        if not fitting:
            room.append(50)
            assert found[part] == len(room) - 1
        else:
            assert room[found[part]] == min(fitting)
        room[found[part]] -= sizes[part]
    used = sorted(50 - left for left in room)
    assert len(used) < 2 or used[0] + used[1] > 50


@pytest.mark.parametrize("objective", OBJECTIVES)
@LAW
@given(DOCUMENTS, st.integers(16, 64), st.integers(0, 5), st.integers(1, 2))
@pytest.mark.slow
def test_parts_are_rows_of_one_document(objective: str, documents: Any, length: int, seed: int, copies: int) -> None:
    text = _text(documents)
    more: dict[str, Any] = {"objective": objective, "dupe_factor": copies}
    packed = _build(text, length, None, seed, pack=True, **more)
    parts, rows = packed.parts, packed.ends
    assert parts is not None and set(rows.tolist()) <= set(parts.tolist()) and (np.diff(parts) > 0).all()
    assert (np.diff(rows) <= length).all() and (len(rows) < 3 or np.sort(np.diff(rows))[:2].sum() > length)
    pieces = [packed.input_ids[s:e].tolist() for s, e in zip(parts[:-1].tolist(), parts[1:].tolist(), strict=True)]
    if objective in ("nsp", "sop"):
        _check(text, _apart(packed), length, copies, objective)
        if objective == "sop":  # no more and no other sentences are left out, except for a chunk if their number is odd
            alone = "sentences that fit in with no neighbour"
            assert packed.tallies[2].dropped[alone] == _build(text, length, None, seed, **more).tallies[2].dropped[alone]
    else:
        for piece in pieces:
            positions = [token - FIRST for token in piece if token >= FIRST]
            assert not positions or _document_of(text, positions[0]) == _document_of(text, positions[-1])
            assert positions == list(range(positions[0], positions[-1] + 1)) if positions else piece == [SEP]
        used = np.sort(packed.input_ids[packed.input_ids >= FIRST].astype(int)) - FIRST
        assert used.tolist() == np.repeat(np.arange(len(text.partition.tokens)), copies).tolist()
    assert statistics(packed)["parts"] == packed.tallies[1].left == len(pieces)


@pytest.mark.parametrize(
    ("objective", "unpacked", "full"), [("documents", 0.97, 0.99), ("nsp", 0.92, 0.985), ("sop", 0.92, 0.98)]
)
def test_rows_of_long_documents_are_full(objective: str, unpacked: float, full: float) -> None:
    """In a partition of 380 rows; Bs of equal length, which pairs exchange, are rarer there than in one of 2,000."""
    rng = np.random.default_rng(3)
    text = _plain([rng.integers(5, 60, 300).tolist() for _ in range(40)])
    fill = [_build(text, 1024, None, objective=objective, pack=pack).ends for pack in (False, True)]
    shares = [ends[-1] / (1024 * (len(ends) - 1)) for ends in fill]
    assert shares[0] < unpacked and shares[1] > full


@pytest.mark.parametrize("objective", ["nsp", "sop"])
@pytest.mark.slow
def test_lengths_and_places_do_not_tell_the_label_of_a_part(objective: str) -> None:
    rng = np.random.default_rng(5)
    counts = np.clip(rng.lognormal(2.8, 1.0, 1800).astype(int), 1, 600)
    text = _plain([np.clip(rng.lognormal(3.0, 0.6, n).astype(int), 1, 150).tolist() for n in counts])
    built = _apart(_build(text, 128, objective=objective, pack=True))
    whole, label = np.diff(built.ends), built.labels
    assert label is not None and built.a_documents is not None and len(label) > 10_000
    b = np.add.reduceat(built.token_type_ids, built.ends[:-1], dtype=np.int64) - 1
    begin = built.input_ids[built.ends[:-1] + 1].astype(np.int64) - FIRST
    if objective == "sop":  # of a swapped pair the text begins with B
        begin = np.minimum(begin, built.input_ids[built.ends[1:] - 1 - b].astype(np.int64) - FIRST)
    begin -= text.partition.sentences[text.partition.documents][built.a_documents]
    scores = {
        "part": whole,
        "A": whole - b - 3,
        "B": b,
        "its place": begin,
        "its document": text.partition.sizes[built.a_documents],
    }
    told = {name: auc(score, label == NOT_NEXT) for name, score in scores.items()}
    assert all(abs(auc - 0.5) <= 0.015 for auc in told.values()), told
