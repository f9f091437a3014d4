"""Make pairs as described in BERT's paper, as a control: a measurement of pairs must detect their flaws.

Section A.2 of the paper, and the known behavior of google-research/bert: a chunk of sentences up to the length; B is random text
of another document half of the time, and always if a chunk has only one sentence; pairs that are too long lose tokens at the
front or the back; another document is drawn at most ten times.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Text", "make"]

Ints = npt.NDArray[np.int64]


class Text(NamedTuple):
    """A corpus as concatenated ids: sentence starts and the end [S + 1], document starts in these [D + 1], names."""

    tokens: npt.NDArray[Any]
    sentences: Ints
    documents: Ints
    ids: list[str]
    origins: list[tuple[str, ...]]


Segment = tuple[int, int]  # start and end in the tokens
Made = list[tuple[Segment, Segment, int]]


def make(text: Text, length: int, *, short_seq_prob: float = 0.1, seed: int = 1) -> Made:
    """Return A, B and the label of each pair."""
    draw, made = random.Random(seed), Made()
    starts = text.sentences.tolist()
    documents = [range(a, b) for a, b in zip(text.documents[:-1].tolist(), text.documents[1:].tolist(), strict=True) if a < b]
    room = length - 3
    for number, document in enumerate(documents):
        first = document.start
        while first < document.stop:
            target = draw.randint(2, room) if draw.random() < short_seq_prob else room
            last = _fill(starts, first, document.stop, target)
            cut = first + (draw.randint(1, last - first - 1) if last - first > 1 else 1)
            a, label = (starts[first], starts[cut]), 0
            if cut < last and draw.random() < 0.5:
                b, first = (starts[cut], starts[last]), last
            else:
                b, label, first = _random_text(draw, starts, documents, number, target - (a[1] - a[0])), 1, cut
            if a[1] > a[0] and b[1] > b[0]:
                made.append((*_shorten(draw, a, b, room), label))
    draw.shuffle(made)
    return made


def _fill(starts: list[int], first: int, stop: int, target: int) -> int:
    """Return the end of a chunk of sentences that reaches the target."""
    last = first + 1
    while last < stop and starts[last] - starts[first] < target:
        last += 1
    return last


def _random_text(draw: random.Random, starts: list[int], documents: list[range], own: int, target: int) -> Segment:
    for _ in range(10):
        other = draw.randrange(len(documents))
        if other != own:
            break
    first = draw.choice(documents[other])
    return starts[first], starts[_fill(starts, first, documents[other].stop, target)]


def _shorten(draw: random.Random, a: Segment, b: Segment, room: int) -> tuple[Segment, Segment]:
    """Remove tokens from the front or back of the longer side until both fit."""
    (a_start, a_end), (b_start, b_end) = a, b
    while a_end - a_start + b_end - b_start > room:
        front = draw.random() < 0.5
        if a_end - a_start > b_end - b_start:
            a_start, a_end = (a_start + 1, a_end) if front else (a_start, a_end - 1)
        else:
            b_start, b_end = (b_start + 1, b_end) if front else (b_start, b_end - 1)
    return (a_start, a_end), (b_start, b_end)
