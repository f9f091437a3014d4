"""Pairs for next sentence prediction and for sentence order: [CLS] A [SEP] B [SEP].

document 1:  s1 s2 | s3        document 2:  t1 | t2 t3

nsp, both chosen: they exchange Bs      (s1 s2, t2 t3) 1 NotNext    (t1, s3) 1 NotNext
nsp, not chosen                         (s1 s2, s3)    0 IsNext     (t1, t2 t3) 0 IsNext
sop, the first one chosen               (s3, s1 s2)    1 swapped    (t1, t2 t3) 0 in order
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import PairsConfig
from ..manifest import Tally
from .bucket import Bucket, Ints, Pairs, Special, copy
from .chunks import Chunks, cut, cut_whole
from .exchange import choose, fair_half, match, places, ranks

__all__ = ["build"]


class _Rows(NamedTuple):
    """Pairs as places in the bucket's tokens: first and second segment, label, documents, and a number to shuffle by."""

    a_start: Ints
    a_end: Ints
    b_start: Ints
    b_end: Ints
    labels: npt.NDArray[np.int8]
    a_documents: Ints
    b_documents: Ints
    order: keys.Bits


def build(bucket: Bucket, config: PairsConfig, special: Special, name: str) -> Pairs:
    """Build a bucket's pairs, each copy for itself: partners are never from another copy."""
    chunks, tokens = Tally("chunks"), Tally("tokens", entered=len(bucket.tokens) * config.dupe_factor)
    copies = [_one_copy(bucket, config, n, name, chunks, tokens) for n in range(config.dupe_factor)]
    columns: list[Any] = [np.concatenate(column) for column in zip(*copies, strict=True)]
    order = np.argsort(columns[-1], kind="stable")
    rows = _Rows(*(column[order] for column in columns))
    documents = _count_documents(bucket, rows, config.dupe_factor, tokens)
    chunks.left, tokens.left = len(order), int((rows.a_end - rows.a_start + rows.b_end - rows.b_start).sum())
    lost = tokens.entered - tokens.left - sum(tokens.dropped.values())
    tokens.dropped["truncation" if config.objective == "nsp" else "sentences that fit in with no neighbour"] = lost
    return _lay_out(bucket, config, rows, special, [documents, chunks, tokens])


def _one_copy(bucket: Bucket, config: PairsConfig, number: int, name: str, *counts: Tally) -> _Rows:
    """Cut one copy of the bucket into chunks and make a pair of each; `counts` are of chunks and of tokens."""
    room = config.max_seq_length - 3  # [CLS] A [SEP] B [SEP]
    doc_keys = bucket.keys(config.seed, room, number)
    short = config.short_seq_prob or 0.0
    if config.objective == "sop":
        chunks = cut_whole(bucket, doc_keys, room=room, short_seq_prob=short, phase=number > 0)
        counts[0].entered += len(chunks.start)
        return _swap(bucket, chunks.take(np.argsort(chunks.order)))
    chunks = cut(bucket, doc_keys, room=room, short_seq_prob=short, phase=number > 0)
    chunks = _without_endless_words(bucket, chunks, room, *counts)
    return _exchange(bucket, chunks.take(np.argsort(chunks.order)), room, name)  # so no order of documents matters


def _exchange(bucket: Bucket, chunks: Chunks, room: int, name: str) -> _Rows:
    """Make pairs for next sentence prediction: half of the chunks exchange their Bs."""
    start, end = _fit(bucket, room, chunks.start, chunks.cut, chunks.cut, chunks.end)
    chunks = chunks._replace(start=start, end=end)
    twos = match(bucket, chunks)
    one, other = np.concatenate([twos, twos[:, ::-1]]).T
    own, too_long = (end - chunks.cut)[one], (chunks.cut - start)[one] + (end - chunks.cut)[other] > room
    end[other[too_long]] = _cut_to(bucket, chunks.cut[other[too_long]], own[too_long])
    start[one], end[other] = _fit(bucket, room, start[one], chunks.cut[one], chunks.cut[other], end[other])  # a first word alone
    labels, partner = choose(bucket, chunks, twos, name)
    start, end = _fit(bucket, room, start, chunks.cut, chunks.cut[partner], end[partner])  # a third chunk may need it
    documents = chunks.document, chunks.document[partner]
    return _Rows(start, chunks.cut, chunks.cut[partner], end, labels, *documents, _shuffle(chunks))


def _swap(bucket: Bucket, chunks: Chunks) -> _Rows:
    """Make pairs for sentence order: half of the chunks, one of every two neighbours in random order, have A and B swapped."""
    coins = keys.stream(chunks.order, 1)[:, 0]
    swapped = fair_half([ranks(chunks.end - chunks.start), *places(bucket, chunks)], coins)
    first = np.where(swapped, chunks.cut, chunks.start), np.where(swapped, chunks.end, chunks.cut)
    second = np.where(swapped, chunks.start, chunks.cut), np.where(swapped, chunks.cut, chunks.end)
    return _Rows(*first, *second, swapped.astype(np.int8), chunks.document, chunks.document, _shuffle(chunks))


def _shuffle(chunks: Chunks) -> keys.Bits:
    """Return a number for each chunk that its row's place goes by; not `order`, which its label depends on."""
    return keys.stream(chunks.order, 3)[:, 2]


def _without_endless_words(bucket: Bucket, chunks: Chunks, room: int, *counts: Tally) -> Chunks:
    """Drop the chunks where A's last word or B's first fills half of the room: cut anywhere, they would begin inside a word."""
    last_word = chunks.cut - bucket.word_at(chunks.cut - 1)
    first_word = bucket.word_from(chunks.cut + 1) - chunks.cut
    endless = np.maximum(last_word, first_word) > room // 2
    chunk_count, tokens = counts
    chunk_count.entered += len(endless)
    if endless.any():
        chunk_count.dropped["a word over half the length"] += int(endless.sum())
        tokens.dropped["chunks of a word over half the length"] += int((chunks.end - chunks.start)[endless].sum())
    return chunks.take(~endless)


def _cut_to(bucket: Bucket, start: Ints, length: Ints) -> Ints:
    """Return where segments end that are cut to a length, at a word boundary, but not before the end of their first word."""
    return np.maximum(bucket.word_from(start + 1), bucket.word_at(start + length))


def _fit(bucket: Bucket, room: int, a_start: Ints, a_end: Ints, b_start: Ints, b_end: Ints) -> tuple[Ints, Ints]:
    """Cut what is too long from A's front and B's end, at word boundaries; return where A starts and where B ends.

    Room for 13, words of one token: A of 20 and B of 20 get 7 and 6; a shorter side leaves its room to the other.
    """
    a, b = a_end - a_start, b_end - b_start
    for_a = np.minimum(a, np.maximum(room - room // 2, room - b))
    for_b = np.minimum(b, room - for_a)
    start, end = bucket.word_from(a_end - for_a), bucket.word_at(b_start + for_b)
    return np.where(for_a < a, start, a_start), np.where(for_b < b, end, b_end)


def _count_documents(bucket: Bucket, rows: _Rows, copies: int, tokens: Tally) -> Tally:
    """Count the documents, and the tokens of those that are too short to give a pair."""
    gave = np.bincount(rows.a_documents, minlength=len(bucket.ids)) > 0
    sentences = np.diff(bucket.first)
    documents = Tally("documents", entered=len(gave), left=int(gave.sum()))
    reasons = (("no text", sentences == 0), ("one sentence", sentences == 1), ("no two sentences that fit", sentences > 1))
    for reason, which in reasons:
        documents.dropped[reason] = int((which & ~gave).sum())
    tokens.dropped["documents of one sentence"] = int(bucket.sizes[sentences == 1].sum()) * copies
    return documents


def _lay_out(bucket: Bucket, config: PairsConfig, rows: _Rows, special: Special, tallies: list[Tally]) -> Pairs:
    """Lay the pairs out end to end: [CLS] A [SEP] B [SEP], segment ids 0…0 1…1."""
    a, b = rows.a_end - rows.a_start, rows.b_end - rows.b_start
    ends = np.append(0, np.cumsum(a + b + 3))
    first, last = ends[:-1], ends[1:] - 1

    def gather(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.zeros(int(ends[-1]), values.dtype)
        copy(found, first + 1, values, rows.a_start, a)
        copy(found, first + a + 2, values, rows.b_start, b)
        return found

    input_ids = gather(bucket.tokens)
    input_ids[first], input_ids[first + a + 1], input_ids[last] = special.cls_id, special.sep_id, special.sep_id
    continues = gather(bucket.continues) if config.chinese_words != "none" else None
    token_type_ids = np.repeat(np.tile(np.array([0, 1], np.uint8), len(a)), np.stack([a + 2, b + 1], 1).ravel())
    return Pairs(input_ids, token_type_ids, continues, ends, rows.labels, rows.a_documents, rows.b_documents, tallies)
