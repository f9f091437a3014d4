"""Build sentence pairs for next sentence prediction: exactly half NotNext, and nothing but the text tells which.

A bucket of documents is cut into chunks of consecutive sentences, every chunk at a random sentence boundary into A and its true
B.  Half of the chunks then exchange their Bs with a chunk of another document whose B is as long.  So the labels differ in
nothing but whether B follows A: the same lengths, the same documents, the same text, each used once.

    document 1:  s1 s2 | s3        document 2:  t1 | t2 t3       both chosen: they exchange
    pairs:       (s1 s2, t2 t3) NotNext         (t1, s3) NotNext
    not chosen:  (s1 s2, s3) IsNext             (t1, t2 t3) IsNext

Google's algorithm draws B at random and cuts it to fit, which lets the length of a pair tell its label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import keys
from .errors import EmptyResultError
from .manifest import Tally

__all__ = ["IS_NEXT", "NOT_NEXT", "Bucket", "Pairs", "build", "statistics"]

IS_NEXT, NOT_NEXT = 0, 1  # as in google-research/bert and in Hugging Face
_ROWS = 4096  # pairs that are copied at a time: their indices take 8 bytes a token
Ints = npt.NDArray[np.int64]


@dataclass
class Bucket:
    """Tokenized documents, end to end.

    tokens: ids, [T].  sentences: where each sentence begins in `tokens`, and T, [S + 1].  documents: where each document
    begins in `sentences`, and S, [D + 1].  ids: [D] document ids; documents of one id never exchange text.
    """

    tokens: npt.NDArray[Any]
    sentences: Ints
    documents: Ints
    ids: Sequence[str]


class Pairs(NamedTuple):
    """Pairs in the order of the shard: ``input_ids`` [T], ``token_type_ids`` [T], ``ends`` [N + 1], ``labels`` [N].

    `a_documents` and `b_documents` [N] index the bucket's documents; `tallies` count documents, chunks and tokens.
    """

    input_ids: npt.NDArray[Any]
    token_type_ids: npt.NDArray[np.uint8]
    ends: Ints
    labels: npt.NDArray[np.int8]
    a_documents: Ints
    b_documents: Ints
    tallies: list[Tally]


def build(
    bucket: Bucket,
    *,
    max_seq_length: int,
    short_seq_prob: float,
    seed: int,
    cls_id: int,
    sep_id: int,
    continues: npt.NDArray[np.bool_],
    name: str = "",
) -> Pairs:
    """Build a bucket's pairs.

    `continues[id]` tells whether a piece goes on with a word (``##ing``).  Raise EmptyResultError where no exchange between
    documents is possible; `name` says which bucket in the message.
    """
    room = max_seq_length - 3  # [CLS] A [SEP] B [SEP]
    tallies = [Tally("documents"), Tally("chunks"), Tally("tokens")]
    chunks, doc_keys = _cut(bucket, room, short_seq_prob, seed, tallies)
    chunks = _without_endless_words(bucket, chunks, room, continues, tallies)
    order = keys.substream(doc_keys[chunks.document], chunks.number.astype(np.uint64))  # a random number for each chunk
    labels = _choose(chunks, order, bucket.ids, name)
    partner = _exchange(chunks, labels, order, bucket.ids)
    by = np.lexsort((chunks.document, keys.stream(order, 1)[:, 0]))  # not `order`, by which the labels were chosen
    rows = _fit(bucket.tokens, chunks, partner, room, continues)[:, by]
    return _assemble(bucket, rows, labels[by], chunks, by, partner, cls_id, sep_id, tallies)


class _Chunks(NamedTuple):
    """Chunks: A is ``tokens[start:cut]``, its true B ``tokens[cut:end]``; `number` counts within the document; all [N]."""

    document: Ints
    number: Ints
    start: Ints
    cut: Ints
    end: Ints

    def take(self, rows: npt.NDArray[Any]) -> _Chunks:
        return _Chunks(*(column[rows] for column in self))


def _cut(bucket: Bucket, room: int, short_seq_prob: float, seed: int, tallies: list[Tally]) -> tuple[_Chunks, keys.Bits]:
    """Cut every document into chunks, each at a random sentence boundary into A and B."""
    documents, counts, tokens = tallies
    found: list[tuple[int, int, int, int, int]] = []
    doc_keys = np.zeros(len(bucket.ids), np.uint64)
    documents.entered = len(bucket.ids)
    tokens.entered = len(bucket.tokens)
    starts = bucket.sentences
    copies: Counter[str] = Counter()
    for d, doc_id in enumerate(bucket.ids):
        first, last = int(bucket.documents[d]), int(bucket.documents[d + 1])
        doc_keys[d] = key = keys.key(seed, "pairs", room, doc_id, copies[doc_id])  # a page may come twice: no twin rows
        copies[doc_id] += 1
        if last - first < 2:
            reason = "one sentence" if last > first else "no text"
            documents.dropped[reason] += 1
            tokens.dropped[f"documents of {reason}"] += int(starts[last] - starts[first])
            continue
        documents.left += 1
        draws = keys.stream(key, 3 * (last - first)).reshape(-1, 3)
        chances = keys.share(draws[:, 0])
        for number, (i, j) in enumerate(_spans(starts, first, last, room, short_seq_prob, chances, draws[:, 1])):
            cut = i + 1 + int(keys.below(draws[number, 2:3], j - i - 1)[0])
            found.append((d, number, int(starts[i]), int(starts[cut]), int(starts[j])))
    counts.entered = len(found)
    columns = np.array(found, np.int64).reshape(-1, 5).T
    return _Chunks(*columns), doc_keys


def _spans(
    starts: Ints, first: int, last: int, room: int, short_seq_prob: float, chances: npt.NDArray[Any], draws: keys.Bits
) -> list[tuple[int, int]]:
    """Cut the sentences ``[first, last)`` into spans of at least two whose tokens fill, but do not exceed, their target."""
    spans: list[tuple[int, int]] = []
    i = first
    while i < last:
        target = room
        if chances[len(spans)] < short_seq_prob:
            target = 2 + int(keys.below(draws[len(spans) : len(spans) + 1], room - 1)[0])
        j = int(np.searchsorted(starts[i + 1 : last + 1], starts[i] + target, side="right")) + i
        j = max(j, i + 2)
        if j >= last - 1 and j != last:  # one sentence would be left over
            j = last if j - 1 < i + 2 or starts[last] - starts[i] <= room else j - 1
        spans.append((i, j := min(j, last)))
        i = j
    return spans


def _without_endless_words(
    bucket: Bucket, chunks: _Chunks, room: int, continues: npt.NDArray[np.bool_], tallies: list[Tally]
) -> _Chunks:
    """Drop the chunks where A's last word or B's first fills half of the room: cut anywhere, they would begin inside a word."""
    begins = np.append(~continues[bucket.tokens], True)  # where words begin, and the end
    begins[0] = True
    last_word, first_word = _distance(begins, chunks.cut, -1), _distance(begins, chunks.cut, 1)
    empty = (chunks.start == chunks.cut) | (chunks.cut == chunks.end)
    endless = np.maximum(last_word, first_word) > room // 2
    sizes = chunks.end - chunks.start
    for reason, which in (("a side without a token", empty), ("a word over half the length", endless & ~empty)):
        if which.any():
            tallies[1].dropped[reason] += int(which.sum())
            tallies[2].dropped[f"chunks of {reason}"] += int(sizes[which].sum())
    return chunks.take(~(empty | endless))


def _distance(begins: npt.NDArray[np.bool_], places: Ints, step: int) -> Ints:
    """Return how far the next place where a word begins is, forward (`step` 1) or backward (-1)."""
    distance = np.ones(len(places), np.int64)
    going = np.arange(len(places))
    while len(going := going[~begins[np.clip(places[going] + step * distance[going], 0, len(begins) - 1)]]):
        distance[going] += 1
    return distance


def _choose(chunks: _Chunks, order: keys.Bits, ids: Sequence[str], name: str) -> npt.NDArray[np.int8]:
    """Choose half of the chunks (±1) in random order, none of whose documents has more than half of the chosen."""
    count = len(order)
    labels = np.zeros(count, np.int8)
    ranked = np.argsort(order, kind="stable")
    documents = _identity(ids)[chunks.document][ranked].tolist()
    half = count // 2 + (int(order.min() & np.uint64(1)) if count % 2 else 0)
    for wanted in (half, half + 1, half - 1):
        if wanted >= 0 and abs(2 * wanted - count) <= 2:
            chosen = _take_capped(documents, wanted)
            if len(chosen) == wanted:
                labels[ranked[chosen]] = NOT_NEXT
                return labels
    most = ids[Counter(chunks.document.tolist()).most_common(1)[0][0]]
    raise EmptyResultError(
        f"{name or 'the bucket'}: {most} holds most of the text, so half of the pairs cannot get a B from another document: "
        "give more documents, or use fewer --shards"
    )


def _take_capped(documents: list[int], wanted: int) -> list[int]:
    """Take the first `wanted` places, but at most half of them from one document."""
    taken: Counter[int] = Counter()
    chosen: list[int] = []
    for place, document in enumerate(documents):
        if len(chosen) == wanted:
            break
        if taken[document] < wanted // 2:
            taken[document] += 1
            chosen.append(place)
    return chosen


def _identity(ids: Sequence[str]) -> Ints:
    """Number the documents so that those of one id have one number."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(i, len(numbers)) for i in ids], np.int64)


def _exchange(chunks: _Chunks, labels: npt.NDArray[np.int8], order: keys.Bits, ids: Sequence[str]) -> Ints:
    """Tell for each chunk whose B it gets: the chosen, in order of B's length, swap with the nearest of another document.

    The chosen wait for a partner in one queue, which at any time holds chunks of one document only; so only a document with
    more than half of the chosen could be left without, and `_choose` sees to that.
    """
    partner = np.arange(len(labels))
    chosen = np.flatnonzero(labels == NOT_NEXT)
    length = (chunks.end - chunks.cut)[chosen]
    same = _identity(ids)[chunks.document]
    waiting: list[int] = []
    matched: list[tuple[int, int]] = []
    for row in chosen[np.lexsort((order[chosen], length))].tolist():
        if waiting and same[waiting[0]] != same[row]:
            matched.append((waiting.pop(), row))
        else:
            waiting.append(row)
    for a, b in matched:
        partner[a], partner[b] = b, a
    _place_left_over(partner, same, waiting, matched)
    return partner


def _place_left_over(partner: Ints, same: Ints, waiting: list[int], matched: list[tuple[int, int]]) -> None:
    """Put the chunks of one document that are left without a partner into exchanges between two others."""
    if not waiting:
        return
    free = [pair for pair in reversed(matched) if same[waiting[0]] not in (same[pair[0]], same[pair[1]])]
    for a, b in free:
        if len(waiting) >= 2:
            c, d = waiting.pop(), waiting.pop()
            partner[a], partner[c], partner[b], partner[d] = c, a, d, b
        elif waiting:
            c = waiting.pop()
            partner[a], partner[b], partner[c] = b, c, a  # a ring of three
    if waiting:
        raise AssertionError("a chunk was left without a partner; _choose must not let this happen")


def _fit(tokens: npt.NDArray[Any], chunks: _Chunks, partner: Ints, room: int, continues: npt.NDArray[np.bool_]) -> Ints:
    """Cut what is too long from A's front and B's end, at word boundaries.

    Return four rows, [4, N]: where A starts and ends and where B starts and ends in `tokens`.
    """
    a_start, a_end = chunks.start.copy(), chunks.cut
    b_start, b_end = chunks.cut[partner], chunks.end[partner].copy()
    a, b = a_end - a_start, b_end - b_start
    for_a = np.minimum(a, np.maximum(room - room // 2, room - b))
    for_b = np.minimum(b, room - for_a)
    for row in np.flatnonzero(for_a < a):
        start = a_end[row] - for_a[row]
        a_start[row] = start + int(np.argmin(continues[tokens[start : a_end[row]]]))
    for row in np.flatnonzero(for_b < b):
        end = b_start[row] + for_b[row]
        while continues[tokens[end]]:
            end -= 1
        b_end[row] = end
    return np.stack([a_start, a_end, b_start, b_end])


def _assemble(
    bucket: Bucket,
    rows: Ints,
    labels: npt.NDArray[np.int8],
    chunks: _Chunks,
    by: Ints,
    partner: Ints,
    cls_id: int,
    sep_id: int,
    tallies: list[Tally],
) -> Pairs:
    """Lay the pairs out end to end: [CLS] A [SEP] B [SEP], segment ids 0…0 1…1."""
    a_start, a_end, b_start, b_end = rows
    a, b = a_end - a_start, b_end - b_start
    ends = np.concatenate([[0], np.cumsum(a + b + 3)])
    input_ids = np.empty(int(ends[-1]), bucket.tokens.dtype)
    first, last = ends[:-1], ends[1:] - 1
    input_ids[first], input_ids[first + a + 1], input_ids[last] = cls_id, sep_id, sep_id
    _copy(input_ids, first + 1, bucket.tokens, a_start, a)
    _copy(input_ids, first + a + 2, bucket.tokens, b_start, b)
    token_type_ids = np.repeat(np.tile(np.array([0, 1], np.uint8), len(a)), np.stack([a + 2, b + 1], 1).ravel())
    _, counts, tokens = tallies
    counts.left = len(by)
    tokens.left = int((a + b).sum())
    if cut := int((chunks.end - chunks.start).sum()) - tokens.left:
        tokens.dropped["truncation"] = cut
    documents = chunks.document[by], chunks.document[partner[by]]
    return Pairs(input_ids, token_type_ids, ends, labels, *documents, tallies)


def _copy(target: npt.NDArray[Any], to: Ints, source: npt.NDArray[Any], start: Ints, length: Ints) -> None:
    """Copy ``source[start:start + length]`` to ``target[to:]`` for every row, some thousand rows at once."""
    for first in range(0, len(to), _ROWS):
        rows = slice(first, first + _ROWS)
        count = length[rows]
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        target[np.repeat(to[rows], count) + within] = source[np.repeat(start[rows], count) + within]


def statistics(pairs: Pairs) -> Counter[str]:
    """Count pairs, NotNext pairs and the tokens they hold with [CLS] and [SEP]."""
    return Counter(pairs=len(pairs.labels), not_next=int((pairs.labels == NOT_NEXT).sum()), tokens=int(pairs.ends[-1]))
