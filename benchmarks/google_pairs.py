"""Make pairs as described in BERT's paper, as a control: a measurement of pairs must detect their flaws.

Section A.2 of the paper, and the known behavior of google-research/bert: a chunk of sentences up to the length; B is random text
of another document half of the time, and always if a chunk has only one sentence; pairs that are too long lose tokens at the
front or the back; another document is drawn at most ten times.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Segment = tuple[int, int, int]  # document, and start and end in its tokens


def make(
    documents: Sequence[Sequence[int]], length: int, *, short: float = 0.1, seed: int = 1
) -> list[tuple[Segment, Segment, int]]:
    """Return A, B and the label of each pair. A document is the starts of its sentences in tokens, and the end of the last."""
    draw, made, room = random.Random(seed), list[tuple[Segment, Segment, int]](), length - 3
    for number, starts in enumerate(documents):
        first, stop = 0, len(starts) - 1
        while first < stop:
            target = draw.randint(2, room) if draw.random() < short else room
            last = _fill(starts, first, target)
            cut = first + (draw.randint(1, last - first - 1) if last - first > 1 else 1)
            a, label = (number, starts[first], starts[cut]), 0
            if cut < last and draw.random() < 0.5:
                b, first = (number, starts[cut], starts[last]), last
            else:
                b, label, first = _random_text(draw, documents, number, target - (a[2] - a[1])), 1, cut
            if a[2] > a[1] and b[2] > b[1]:
                made.append((*_shorten(draw, a, b, room), label))
    draw.shuffle(made)
    return made


def _fill(starts: Sequence[int], first: int, target: int) -> int:
    """Return the end of a chunk of sentences that reaches the target."""
    last = first + 1
    while last < len(starts) - 1 and starts[last] - starts[first] < target:
        last += 1
    return last


def _random_text(draw: random.Random, documents: Sequence[Sequence[int]], own: int, target: int) -> Segment:
    for _ in range(10):
        other = draw.randrange(len(documents))
        if other != own:
            break
    starts = documents[other]
    first = draw.randrange(len(starts) - 1)
    return other, starts[first], starts[_fill(starts, first, target)]


def _shorten(draw: random.Random, a: Segment, b: Segment, room: int) -> tuple[Segment, Segment]:
    """Remove tokens from the front or back of the longer side until both fit."""
    (a_document, a_start, a_end), (b_document, b_start, b_end) = a, b
    while a_end - a_start + b_end - b_start > room:
        front = draw.random() < 0.5
        if a_end - a_start > b_end - b_start:
            a_start, a_end = (a_start + 1, a_end) if front else (a_start, a_end - 1)
        else:
            b_start, b_end = (b_start + 1, b_end) if front else (b_start, b_end - 1)
    return (a_document, a_start, a_end), (b_document, b_start, b_end)
