"""Pairs: exactly half NotNext, every token accounted for, and nothing but the text tells the label.

In these partitions every token is another number (its position), so a pair tells exactly which text it is made of.
"""

from __future__ import annotations

import doctest
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import FIRST, SPECIAL, auc

from bertdata import keys
from bertdata.config import PairsConfig
from bertdata.rows import Pairs, Partition, build, chunks, exchange, partition, statistics

LAW = settings(deadline=None, max_examples=40)
CLS, SEP = 2, 3
IS_NEXT, NOT_NEXT = 0, 1


class Text(NamedTuple):
    """Documents as lengths of words: document -> sentence -> word -> pieces; and the partition they make."""

    partition: Partition
    continues: np.ndarray
    edges: list[int]  # where sentences begin, and where the last ends
    documents: list[int]  # the first sentence of each, and how many there are


def _text(documents: Sequence[Sequence[Sequence[int]]], ids: Sequence[str] = ()) -> Text:
    continues, sentences, starts = [False] * FIRST, [0], [0]
    for document in documents:
        for sentence in document:
            for word in sentence:
                continues += [False] + [True] * (word - 1)
            sentences.append(len(continues) - FIRST)
        starts.append(len(sentences) - 1)
    tokens = np.arange(FIRST, len(continues), dtype=np.uint32)
    names = ids or [f"w:{i}" for i in range(len(documents))]
    flags = np.array(continues)
    partition = Partition(tokens, flags[FIRST:], np.array(sentences, np.int64), np.array(starts, np.int64), names)
    return Text(partition, flags, sentences, starts)


def _plain(lengths: Sequence[Sequence[int]], ids: Sequence[str] = ()) -> Text:
    """Documents as lengths of sentences, every word one piece."""
    return _text([[[1] * n for n in document] for document in lengths], ids)


def _build(text: Text, length: int = 32, short: float | None = 0.1, seed: int = 1, **more: Any) -> Pairs:
    config = PairsConfig(max_seq_length=length, short_seq_prob=short, seed=seed, **more)
    return build(text.partition, config, SPECIAL)


class Row(NamedTuple):
    """A pair as its parts; a and b are positions in the partition's tokens."""

    ids: list[int]
    segments: list[int]
    label: int
    a: list[int]
    b: list[int]
    a_document: int
    b_document: int


def _rows(built: Pairs) -> list[Row]:
    assert built.labels is not None and built.a_documents is not None and built.b_documents is not None
    rows = []
    for i, (start, end) in enumerate(zip(built.ends[:-1].tolist(), built.ends[1:].tolist(), strict=True)):
        ids, segments = built.input_ids[start:end].tolist(), built.token_type_ids[start:end].tolist()
        middle = segments.index(1)
        a, b = ([t - FIRST for t in side] for side in (ids[1 : middle - 1], ids[middle:-1]))
        rows.append(Row(ids, segments, int(built.labels[i]), a, b, int(built.a_documents[i]), int(built.b_documents[i])))
    return rows


def _document_of(text: Text, token: int) -> int:
    return bisect_right(text.documents, bisect_right(text.edges, token) - 1) - 1


def _check(text: Text, built: Pairs, length: int, copies: int = 1, objective: str = "nsp") -> list[Row]:
    """Check all laws that hold for any partition."""
    rows, edges = _rows(built), set(text.edges)
    for row in rows:
        _check_row(text, row, length, objective, edges)
    count, chosen = len(rows), sum(row.label for row in rows)
    assert 2 * chosen == count
    used = Counter(t for row in rows for t in (*row.a, *row.b))
    assert not used or max(used.values()) <= copies  # no token twice in a copy
    assert not count or objective == "sop" or count >= 4, "a match has no pairs without a second match"
    documents, chunked, tokens = built.tallies
    for tally in built.tallies:
        tally.check()
    assert documents.entered == len(text.partition.ids) and tokens.entered == len(text.partition.tokens) * copies
    assert documents.left == len({row.a_document for row in rows})
    assert chunked.left == count and tokens.left == sum(used.values())
    assert min(tokens.dropped.values()) >= 0
    _check_documents(text, used, copies, built)
    assert statistics(built) == Counter(rows=count, ones=chosen, tokens=int(built.ends[-1]))
    return rows


def _check_row(text: Text, row: Row, length: int, objective: str, sentence_starts: set[int]) -> None:
    assert len(row.ids) <= length
    assert row.a and row.b
    assert row.ids == [CLS, *(t + FIRST for t in row.a), SEP, *(t + FIRST for t in row.b), SEP]
    assert row.segments == [0] * (len(row.a) + 2) + [1] * (len(row.b) + 1)
    assert row.a == list(range(row.a[0], row.a[-1] + 1)) and row.b == list(range(row.b[0], row.b[-1] + 1))
    assert _document_of(text, row.a[0]) == _document_of(text, row.a[-1]) == row.a_document
    assert _document_of(text, row.b[0]) == _document_of(text, row.b[-1]) == row.b_document
    for side in (row.a, row.b):
        assert not text.continues[side[0] + FIRST]  # begins with a word
        after = side[-1] + 1
        assert after == len(text.partition.tokens) or not text.continues[after + FIRST]  # and ends with one
    if objective == "sop":
        first, second = (row.b, row.a) if row.label else (row.a, row.b)
        assert second[0] == first[-1] + 1 and row.a_document == row.b_document
        assert {row.a[0], row.b[0], row.a[-1] + 1, row.b[-1] + 1} <= sentence_starts  # whole sentences: no cut tells the order
        return
    assert row.a[-1] + 1 in sentence_starts and row.b[0] in sentence_starts  # the junction is a sentence boundary
    if row.label == IS_NEXT:
        assert row.b[0] == row.a[-1] + 1 and row.a_document == row.b_document
    else:
        assert row.label == NOT_NEXT and text.partition.ids[row.a_document] != text.partition.ids[row.b_document]


def _check_documents(text: Text, used: Counter[int], copies: int, built: Pairs) -> None:
    """The documents that gave nothing are those of the reasons that were counted."""
    documents, _, tokens = built.tallies
    lost, alone = Counter[str](), 0
    for d in range(len(text.partition.ids)):
        positions = text.partition.sentences[text.partition.documents[d] : text.partition.documents[d + 1] + 1]
        if not any(position in used for position in range(int(positions[0]), int(positions[-1]))):
            sentences = int((np.diff(positions) > 0).sum())
            lost[{0: "no text", 1: "one sentence"}.get(sentences, "no pair")] += 1
            alone += copies * int(positions[-1] - positions[0]) * (sentences == 1)
    dropped = +documents.dropped
    assert dropped["no-partner"] + dropped["no two sentences that fit"] == lost["no pair"]
    assert (dropped["no text"], dropped["one sentence"]) == (lost["no text"], lost["one sentence"])
    assert tokens.dropped["documents of one sentence"] == alone


# --- worked by hand ---


@pytest.mark.parametrize("module", [partition, chunks], ids=lambda module: module.__name__)
def test_doctests(module: Any) -> None:
    done = doctest.testmod(module)
    assert done.failed == 0 and (done.attempted or module is partition)


def test_one_of_two_matches_exchanges() -> None:
    """Four documents of one chunk each: two matches, of which a coin chooses one."""
    text = _plain([[3, 4], [5, 4], [3, 9], [5, 9]])
    chosen = Counter[str]()
    for seed in range(40):
        rows = _check(text, _build(text, short=0, seed=seed), 32)
        sides = {(row.a[0], row.b[0]) for row in rows if row.label == NOT_NEXT}
        assert sides in ({(0, 12), (7, 3)}, {(16, 33), (28, 19)})
        chosen["first" if (0, 12) in sides else "second"] += 1
    assert min(chosen.values()) > 8


@pytest.mark.parametrize(
    ("documents", "pairs"),
    [
        ([2, 2, 2], 0),  # one match: no second one to toss a coin with
        ([2] * 4, 4),
        ([2] * 7, 4),  # three matches and a single chunk: one match and the chunk are dropped
        ([2] * 8, 8),
        ([400, 2, 2], 4),  # a document with most of the chunks keeps as many as find partners
    ],
)
def test_groups_of_four_chunks(documents: list[int], pairs: int) -> None:
    """Sentences of ten tokens, two in each chunk. Chunks without a partner are counted."""
    text = _plain([[10] * count for count in documents])
    built = _build(text, 23, short=0)
    assert len(_check(text, built, 23)) == pairs
    assert built.tallies[1].dropped["no-partner"] == sum(documents) // 2 - pairs


def _spans(text: Text, room: int, short: float = 0.0, phase: bool = False) -> list[tuple[int, int]]:
    cut = chunks.cut(text.partition, text.partition.keys(1, room, 0), max_tokens=room, short_seq_prob=short, phase=phase)
    return list(zip(cut.start.tolist(), cut.end.tolist(), strict=True))


def test_chunks_fill_the_room_and_the_rest_of_a_sentence_begins_the_next() -> None:
    """Sentences of 8, 9, 10, 9, 12 and room for 20: 20 tokens, then 12 as s5 alone would be no pair, then what is left."""
    assert _spans(_plain([[8, 9, 10, 9, 12]]), 20) == [(0, 20), (20, 32), (32, 48)]


def test_a_chunk_ends_with_a_sentence_where_that_costs_little() -> None:
    """Room for 32, of which two may stay free."""
    assert _spans(_plain([[10, 10, 10, 10, 10, 10]]), 32) == [(0, 30), (30, 60)]
    assert _spans(_plain([[10, 10, 9, 10, 10, 10]]), 32)[0] == (0, 32)


def test_a_chunk_ends_between_words() -> None:
    """Words of three pieces: 20 tokens would end inside the seventh."""
    assert _spans(_text([[[3] * 3, [3] * 3, [3] * 3, [3] * 3]]), 20)[0] == (0, 18)


def test_a_long_sentence_loses_its_front() -> None:
    """Room for 40; of s1, 50 tokens long, those are left that leave 5 for B; s2 goes on in the next chunk."""
    assert _spans(_plain([[50, 10, 20, 30]]), 40)[0] == (15, 55)


def test_too_long_is_cut_from_the_front_of_a_and_the_end_of_b() -> None:
    """Room for 13: A of 20 and B of 20 get 7 and 6, with the junction between them."""
    text = _plain([[20, 20]] * 4)
    assert _sides(text, 16) == {(range(13, 20), range(20, 26))}


def test_a_short_side_leaves_its_room_to_the_other() -> None:
    assert _sides(_plain([[2, 30]] * 4), 16) == {(range(2), range(2, 13))}
    assert _sides(_plain([[30, 2]] * 4), 16) == {(range(19, 30), range(30, 32))}


def test_cuts_keep_words_whole() -> None:
    """Words of three pieces, room for 13: A keeps 6 of its 7 positions, B 6 of 6."""
    assert _sides(_text([[[3] * 5, [3] * 5]] * 4), 16) == {(range(9, 15), range(15, 21))}


def _sides(text: Text, length: int) -> set[tuple[range, range]]:
    """Return A and B of the rows of equal documents, as positions in their documents."""
    size = len(text.partition.tokens) // len(text.partition.ids)
    rows = _check(text, _build(text, length, short=0), length)
    assert len(rows) == len(text.partition.ids)
    return {tuple(range(side[0] % size, side[-1] % size + 1) for side in (row.a, row.b)) for row in rows}  # type: ignore[misc]


def test_a_match_is_cut_so_that_either_b_fits_either_a() -> None:
    """Room for 29: A 20 with B 9, and A 19 with B 10. Both Bs are cut to 8 tokens, where no sentence ends."""
    text = _plain([[20, 9], [19, 10], [9, 6], [9, 6]])
    for seed in range(8):
        rows = _check(text, _build(text, 32, short=0, seed=seed), 32)
        assert sorted((len(row.a), len(row.b)) for row in rows) == [(9, 6), (9, 6), (19, 8), (20, 8)]
        assert sum(row.label for row in rows) == 2


def test_bs_that_end_alike_are_matched() -> None:
    """B of 6 ends its document, twice; B of 6 goes on into the next sentence, twice: those exchange with their like."""
    long = [10, 10, 30, 10, 10]
    text = _plain([long, long, [10, 6], [10, 6]])
    own = chunks.Chunks(
        document=np.array([0, 2, 1, 3]),
        start=np.array([0, 140, 70, 156]),
        cut=np.array([20, 150, 90, 166]),
        end=np.array([26, 156, 96, 172]),
        order=np.arange(4, dtype=np.uint64),
    )
    assert chunks.ending(text.partition, own).tolist() == [0, 2, 0, 2]
    assert exchange.match(text.partition, own).tolist() == [[0, 2], [1, 3]]


def test_a_few_tokens_before_a_boundary_are_no_a() -> None:
    """Sentences of 29 tokens do not fill rows of 128: no chunk begins with the last few tokens of one."""
    for seed in range(5):
        built = _build(_plain([[29] * 60] * 40), 131, seed=seed)
        b = np.add.reduceat(built.token_type_ids, built.ends[:-1], dtype=np.int64)
        a = np.diff(built.ends) - b - 2
        assert len(a) > 500 and a.min() >= 8, np.bincount(a)[:8]


# --- laws ---

WORDS = st.lists(st.sampled_from([1, 1, 1, 2, 3, 7, 40]), max_size=12)
DOCUMENTS = st.lists(st.lists(WORDS, max_size=12), max_size=8)


@LAW
@given(DOCUMENTS, st.integers(16, 64), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 5), st.integers(1, 3))
@pytest.mark.slow
def test_any_partition_keeps_the_laws(documents: Any, length: int, short: float, seed: int, copies: int) -> None:
    text = _text(documents)
    _check(text, _build(text, length, short, seed, dupe_factor=copies), length, copies)


@LAW
@given(st.lists(st.lists(st.integers(1, 8), min_size=2, max_size=30), max_size=8), st.integers(32, 64), st.booleans())
def test_chunks_of_short_sentences_hold_every_token_once(lengths: Any, room: int, phase: bool) -> None:
    """Where no sentence is over a quarter of the room nothing is lost, and no chunk is over the room."""
    text = _plain(lengths)
    spans = _spans(text, room, short=0.3, phase=phase)
    assert [position for start, end in spans for position in range(start, end)] == list(range(len(text.partition.tokens)))
    starts = set(text.partition.sentences.tolist())
    assert all(starts & set(range(start + 1, end)) and end - start <= room for start, end in spans)


@LAW
@given(DOCUMENTS, st.integers(16, 64), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 5), st.integers(1, 3))
@pytest.mark.slow
def test_sentence_order_keeps_the_laws(documents: Any, length: int, short: float, seed: int, copies: int) -> None:
    text = _text(documents)
    _check(text, _build(text, length, short, seed, objective="sop", dupe_factor=copies), length, copies, "sop")


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_exactly_half_of_any_number_of_copies(objective: str, pack: bool) -> None:
    for seed in range(12):
        text, copies = _plain(_sizes(seed, 4 + seed, 20, 30)), 1 + seed % 5
        labels = _build(text, 64, seed=seed, objective=objective, dupe_factor=copies, pack=pack).labels
        assert labels is not None and len(labels) > 10 and 2 * int(labels.sum()) == len(labels), (seed, copies)


def _check_packed(text: Text, built: Pairs, used: Counter[int], copies: int) -> None:
    assert used == Counter(dict.fromkeys(range(len(text.partition.tokens)), copies))
    assert not built.token_type_ids.any() and len(built.token_type_ids) == len(built.input_ids)
    assert built.labels is None and built.b_documents is None
    for tally in built.tallies:
        tally.check()
    assert built.tallies[0].left == (text.partition.sizes > 0).sum()
    assert statistics(built) == Counter(rows=len(built.ends) - 1, ones=0, tokens=int(built.ends[-1]))


def test_sentence_order_worked_by_hand() -> None:
    """Of 2 x 2 sentences: one chunk is as it was, the other the other way round."""
    text = _plain([[3, 4], [5, 4]])
    for seed in range(8):
        rows = _check(text, _build(text, short=0, seed=seed, objective="sop"), 32, objective="sop")
        assert sorted(row.label for row in rows) == [0, 1]
        swapped = next(row for row in rows if row.label)
        assert (swapped.a, swapped.b) in [([3, 4, 5, 6], [0, 1, 2]), ([12, 13, 14, 15], [7, 8, 9, 10, 11])]


def test_copies_are_cut_and_paired_anew() -> None:
    """Of three copies, few pairs are in two; the documents of any pair but IsNext differ; each copy holds each token once."""
    text = _plain(_sizes(5, 60, 2, 40))
    rows = _check(text, _build(text, 64, dupe_factor=3), 64, 3)
    alone = _check(text, _build(text, 64), 64)
    assert len(rows) > 2.9 * len(alone)
    seen = Counter((tuple(row.a), tuple(row.b)) for row in rows)
    assert sum(count - 1 for count in seen.values()) < 0.1 * len(rows)
    used = Counter(t for row in rows for t in (*row.a, *row.b))
    assert sum(count == 3 for count in used.values()) > 0.95 * len(text.partition.tokens)
    third = len(rows) // 3
    assert len({row.a_document for row in rows[:third]}) > 50, "the copies are shuffled together"


def test_copies_of_full_rows_are_cut_elsewhere() -> None:
    """Without short sequences too: the first chunk of a further copy has a length by chance."""
    text = _plain([[7] * 400] * 4)
    starts = [{row.a[0] for row in _rows(_build(text, 64, 0, dupe_factor=copies))} for copies in (1, 2)]
    assert len(starts[1]) > 1.8 * len(starts[0])


@LAW
@given(
    st.lists(st.lists(st.integers(1, 30), min_size=2, max_size=30), min_size=4, max_size=12),
    st.integers(16, 64),
    st.integers(0, 5),
)
@pytest.mark.slow
def test_documents_of_one_id_never_exchange(lengths: Any, length: int, seed: int) -> None:
    text = _plain(lengths, [f"w:{i // 2}" for i in range(len(lengths))])
    _check(text, _build(text, length, seed=seed), length)


@LAW
@given(
    st.lists(st.lists(st.integers(1, 30), max_size=20), min_size=2, max_size=8),
    st.randoms(use_true_random=False),
    st.integers(0, 3),
)
@pytest.mark.slow
def test_the_order_in_which_documents_stand_does_not_matter(lengths: Any, random: Any, seed: int) -> None:
    order = list(range(len(lengths)))
    random.shuffle(order)
    here, there = _plain(lengths), _plain([lengths[i] for i in order], [f"w:{i}" for i in order])
    one, other = _build(here, seed=seed), _build(there, seed=seed)
    position = np.concatenate(
        [
            np.arange(
                here.partition.sentences[here.partition.documents[i]], here.partition.sentences[here.partition.documents[i + 1]]
            )
            for i in order
        ]
        or [[]]
    )
    special = other.input_ids < FIRST
    back = np.where(
        special,
        other.input_ids,
        position[np.where(special, 0, other.input_ids - FIRST).astype(int)] + FIRST if len(position) else 0,
    )
    assert one.input_ids.tolist() == back.tolist()
    assert one.labels.tolist() == other.labels.tolist() and one.ends.tolist() == other.ends.tolist()
    assert one.token_type_ids.tolist() == other.token_type_ids.tolist()
    assert one.a_documents.tolist() == [order[i] for i in other.a_documents]
    assert one.b_documents.tolist() == [order[i] for i in other.b_documents]


# --- odd corpora ---


def _sizes(seed: int, count: int, low: int, high: int, sentence: int = 25) -> list[list[int]]:
    """Documents of low to high sentences of 1 to `sentence` tokens."""
    random = np.random.default_rng(seed)
    return [random.integers(1, sentence + 1, int(random.integers(low, high + 1))).tolist() for _ in range(count)]


def test_a_corpus_of_nothing() -> None:
    for text in (_plain([]), _plain([[], []]), _plain([[], [5], []])):
        assert _check(text, _build(text), 32) == []
    documents, _chunks, tokens = _build(_plain([[], [5], [7], []])).tallies
    assert documents.dropped == Counter({"no text": 2, "one sentence": 2}) and documents.left == 0
    assert +tokens.dropped == Counter({"documents of one sentence": 12})


def test_empty_and_one_sentence_documents_among_others() -> None:
    lengths = [part for document in _sizes(1, 30, 2, 20) for part in ([], document, [9])]
    text = _plain(lengths)
    built = _build(text, 64)
    assert len(_check(text, built, 64)) > 30
    assert built.tallies[0].dropped == Counter({"no text": 30, "one sentence": 30})


@pytest.mark.parametrize(
    "document",
    [
        [[], [1, 1]],
        [[1, 1], []],
        [[], []],
        [[1], [], [], [1]],
    ],
    ids=["first empty", "last empty", "all empty", "empty between"],
)
@pytest.mark.parametrize("alone", [True, False])
def test_sentences_without_a_token(document: list[list[int]], alone: bool) -> None:
    """A sentence of control characters only gives no token; it may be the last of a partition."""
    text = _text([document] if alone else [[[1, 1], [1, 1, 1]], [[1], [1]], document])
    _check(text, _build(text, short=0), 32)


def test_one_giant_document_among_small_ones() -> None:
    """The giant's chunks are half of the pairs: the others find no partner, and are counted."""
    text = _plain([[10] * 3000, *([10] * 3 for _ in range(60))])
    built = _build(text)
    rows = _check(text, built, 32)
    assert len(rows) > 100 and sum(row.a_document == 0 for row in rows) == len(rows) / 2
    assert built.tallies[1].dropped["no-partner"] > 900


def test_many_documents_of_two_sentences() -> None:
    text = _plain(_sizes(2, 500, 2, 2))
    rows = _check(text, _build(text, 64), 64)
    assert len(rows) == 500 and sum(row.label for row in rows) == 250


def test_words_that_fill_half_the_room_are_dropped_and_counted() -> None:
    text = _text([[[1, 40], [1, 1]], [[1, 1], [40, 1]], *[[[1, 1], [1, 1]]] * 4])
    built = _build(text, 32, short=0)
    assert len(_check(text, built, 32)) == 4
    assert built.tallies[0].dropped["no two sentences that fit"] == 2
    assert built.tallies[1].dropped == Counter({"a word over half the length": 1})
    assert +built.tallies[2].dropped == Counter({"chunks of a word over half the length": 43, "truncation": 43})


# --- statistics over many chunks ---


@pytest.fixture(scope="module")
def many() -> tuple[Text, Pairs, int]:
    """Documents of very different lengths, as in Wikipedia; over 20,000 chunks."""
    random = np.random.default_rng(3)
    counts = np.clip(random.lognormal(2.8, 1.0, 3600).astype(int), 1, 600)
    text = _plain([np.clip(random.lognormal(3.0, 0.6, n).astype(int), 1, 150).tolist() for n in counts])
    return text, _build(text, 128), 128


def test_rows_stand_in_random_order(many: tuple[Text, Pairs, int]) -> None:
    """A reader that takes rows as they stand must not get one label for half of the shard."""
    _text_, built, _length = many
    label, documents = built.labels.astype(int), built.a_documents
    row = np.arange(len(label))
    assert abs(auc(row, label) - 0.5) <= 0.02
    batches = label[: len(label) // 32 * 32].reshape(-1, 32).sum(1)
    assert batches.std() == pytest.approx((32 * 0.25) ** 0.5, rel=0.15)  # as coins fall
    assert (documents[1:] == documents[:-1]).mean() < 0.02
    rank = np.argsort(np.argsort(documents, kind="stable"))
    assert abs(np.corrcoef(row, rank)[0, 1]) < 0.03


def test_little_is_cut_and_little_is_padding(many: tuple[Text, Pairs, int]) -> None:
    _text_, built, length = many
    documents, chunks, tokens = built.tallies
    for tally in built.tallies:
        tally.check()
    assert documents.left > 3000 and chunks.dropped["no-partner"] <= 3
    assert tokens.dropped["truncation"] < 0.01 * tokens.entered
    assert built.ends[-1] / (len(built.labels) * length) > 0.85
    assert np.diff(built.ends).max() <= length


def test_short_sequences_are_as_many_as_asked() -> None:
    """Sentences of one token fill their target exactly, so the target can be read from the pair."""
    text = _plain([[1] * 400] * 300)
    none = np.diff(_build(text, 64, short=0).ends)
    assert (none == 64).mean() > 0.8
    some = np.diff(_build(text, 64, short=0.5).ends)
    assert (some < 64).mean() == pytest.approx(0.5, abs=0.1) and some.min() == 5


def test_seeds_and_lengths_give_other_pairs() -> None:
    text = _plain(_sizes(5, 50, 2, 30))
    first = _build(text, 64).input_ids.tolist()
    assert _build(text, 64, seed=2).input_ids.tolist() != first
    assert _build(text, 65).input_ids.tolist() != first
    assert keys.key(1, "pairs", 61, "w:0") != keys.key(1, "pairs", 62, "w:0")
