"""Pairs: exactly half NotNext, every token accounted for, and nothing but the text tells the label.

In these buckets every token is another number (its place), so a pair tells exactly which text it is made of.
"""

from __future__ import annotations

import doctest
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bertdata import keys, pairs
from bertdata.errors import EmptyResultError
from bertdata.pairs import IS_NEXT, NOT_NEXT, Bucket, Pairs, build, statistics

LAW = settings(deadline=None, max_examples=80)
CLS, SEP, FIRST = 2, 3, 10


class Text(NamedTuple):
    """Documents as lengths of words: document -> sentence -> word -> pieces; and the bucket they make."""

    bucket: Bucket
    continues: np.ndarray


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
    return Text(Bucket(tokens, np.array(sentences, np.int64), np.array(starts, np.int64), names), np.array(continues))


def _plain(lengths: Sequence[Sequence[int]], ids: Sequence[str] = ()) -> Text:
    """Documents as lengths of sentences, every word one piece."""
    return _text([[[1] * n for n in document] for document in lengths], ids)


def _build(text: Text, length: int = 32, short: float = 0.1, seed: int = 1) -> Pairs:
    return build(
        text.bucket,
        max_seq_length=length,
        short_seq_prob=short,
        seed=seed,
        cls_id=CLS,
        sep_id=SEP,
        continues=text.continues,
        name="bucket 0 of 1",
    )


class Row(NamedTuple):
    """A pair as its parts; a and b are places in the bucket's tokens."""

    ids: list[int]
    segments: list[int]
    label: int
    a: list[int]
    b: list[int]
    a_document: int
    b_document: int


def _rows(built: Pairs) -> list[Row]:
    rows = []
    for i, (start, end) in enumerate(zip(built.ends[:-1].tolist(), built.ends[1:].tolist(), strict=True)):
        ids, segments = built.input_ids[start:end].tolist(), built.token_type_ids[start:end].tolist()
        middle = segments.index(1)
        a, b = ([t - FIRST for t in side] for side in (ids[1 : middle - 1], ids[middle:-1]))
        rows.append(Row(ids, segments, int(built.labels[i]), a, b, int(built.a_documents[i]), int(built.b_documents[i])))
    return rows


def _document_of(text: Text, token: int) -> int:
    sentence = int(np.searchsorted(text.bucket.sentences, token, side="right")) - 1
    return int(np.searchsorted(text.bucket.documents, sentence, side="right")) - 1


def _check(text: Text, built: Pairs, length: int) -> list[Row]:
    """Check all laws that hold for any bucket."""
    bucket, rows = text.bucket, _rows(built)
    sentence_starts = set(bucket.sentences.tolist())
    dropped_sides = []
    for row in rows:
        assert len(row.ids) <= length
        assert row.a and row.b
        assert row.ids == [CLS, *(t + FIRST for t in row.a), SEP, *(t + FIRST for t in row.b), SEP]
        assert row.segments == [0] * (len(row.a) + 2) + [1] * (len(row.b) + 1)
        assert row.a == list(range(row.a[0], row.a[-1] + 1)) and row.b == list(range(row.b[0], row.b[-1] + 1))
        assert _document_of(text, row.a[0]) == _document_of(text, row.a[-1]) == row.a_document
        assert _document_of(text, row.b[0]) == _document_of(text, row.b[-1]) == row.b_document
        assert row.a[-1] + 1 in sentence_starts and row.b[0] in sentence_starts  # the junction is a sentence boundary
        for side in (row.a, row.b):
            assert not text.continues[side[0] + FIRST]  # begins with a word
        after = row.b[-1] + 1
        assert after == len(bucket.tokens) or not text.continues[after + FIRST]  # and ends with one
        same = bucket.ids[row.a_document] == bucket.ids[row.b_document]
        if row.label == IS_NEXT:
            assert row.b[0] == row.a[-1] + 1 and row.a_document == row.b_document
        else:
            assert row.label == NOT_NEXT and not same
        dropped_sides.append(row)
    count, chosen = len(rows), sum(row.label for row in rows)
    assert abs(2 * chosen - count) <= (2 if count % 2 == 0 else 1)
    used = Counter(t for row in rows for t in (*row.a, *row.b))
    assert not used or max(used.values()) == 1  # no token twice
    documents, chunks, tokens = built.tallies
    for tally in built.tallies:
        tally.check()
    assert documents.entered == len(bucket.ids) and tokens.entered == len(bucket.tokens)
    assert chunks.left == len(rows) == len(built.labels) and tokens.left == sum(used.values())
    _check_what_is_lost(text, rows, tokens.dropped)
    assert statistics(built) == Counter(pairs=count, not_next=chosen, tokens=int(built.ends[-1]))
    return rows


def _check_what_is_lost(text: Text, rows: list[Row], dropped: Counter[str]) -> None:
    """The tokens in no pair are those of the reasons that were counted, and no others."""
    bucket = text.bucket
    used = {t for row in rows for t in (*row.a, *row.b)}
    lost = Counter[str]()
    for first, last in zip(bucket.documents[:-1].tolist(), bucket.documents[1:].tolist(), strict=True):
        places = range(int(bucket.sentences[first]), int(bucket.sentences[last]))
        kind = {0: "documents of no text", 1: "documents of one sentence"}.get(last - first, "chunks or truncation")
        lost[kind] += sum(t not in used for t in places)
    for kind in ("documents of no text", "documents of one sentence"):
        assert lost[kind] == dropped[kind]
    assert (
        lost["chunks or truncation"] == sum(dropped.values()) - lost["documents of no text"] - lost["documents of one sentence"]
    )


# --- worked by hand ---


def test_doctests() -> None:
    assert doctest.testmod(pairs).failed == 0


def test_two_documents_of_two_sentences_exchange_their_second() -> None:
    """s1 s2 and t1 t2, one chunk each: of two pairs none or both can be NotNext; an exchange takes both."""
    text = _plain([[3, 4], [5, 4]])
    rows = _check(text, _build(text, short=0), 32)
    assert [row.label for row in rows] == [NOT_NEXT, NOT_NEXT]
    sides = sorted((row.a, row.b) for row in rows)
    assert sides == [([0, 1, 2], [12, 13, 14, 15]), ([7, 8, 9, 10, 11], [3, 4, 5, 6])]


def test_too_long_is_cut_from_the_front_of_a_and_the_end_of_b() -> None:
    """Room for 13: A of 20 and B of 20 get 7 and 6, with the junction between them."""
    text = _plain([[20, 20]])
    (row,) = _check(text, _build(text, 16, short=0), 16)
    assert (row.label, row.a, row.b) == (IS_NEXT, list(range(13, 20)), list(range(20, 26)))


def test_a_short_side_leaves_its_room_to_the_other() -> None:
    text = _plain([[2, 30]])
    (row,) = _check(text, _build(text, 16, short=0), 16)
    assert (row.a, row.b) == ([0, 1], list(range(2, 13)))
    text = _plain([[30, 2]])
    (row,) = _check(text, _build(text, 16, short=0), 16)
    assert (row.a, row.b) == (list(range(19, 30)), [30, 31])


def test_cuts_keep_words_whole() -> None:
    """Words of three pieces, room for 13: A keeps 6 of its 7 places, B 6 of 6."""
    text = _text([[[3] * 5, [3] * 5]])
    (row,) = _check(text, _build(text, 16, short=0), 16)
    assert (row.a, row.b) == (list(range(9, 15)), list(range(15, 21)))


# --- laws ---

WORDS = st.lists(st.sampled_from([1, 1, 1, 2, 3, 7, 40]), max_size=12)
DOCUMENTS = st.lists(st.lists(WORDS, max_size=12), max_size=8)


@LAW
@given(DOCUMENTS, st.integers(16, 64), st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 5))
def test_any_bucket_keeps_the_laws_or_says_why_not(documents: Any, length: int, short: float, seed: int) -> None:
    text = _text(documents)
    try:
        built = _build(text, length, short, seed)
    except EmptyResultError as error:
        assert "holds most of the text" in str(error) and "give more documents" in str(error)
        assert "bucket 0 of 1" in str(error)
        return
    _check(text, built, length)


@LAW
@given(
    st.lists(st.lists(st.integers(1, 30), min_size=2, max_size=30), min_size=4, max_size=12),
    st.integers(16, 64),
    st.integers(0, 5),
)
def test_documents_of_one_id_never_exchange(lengths: Any, length: int, seed: int) -> None:
    text = _plain(lengths, [f"w:{i // 2}" for i in range(len(lengths))])
    try:
        built = _build(text, length, seed=seed)
    except EmptyResultError:
        return
    _check(text, built, length)


@LAW
@given(
    st.lists(st.lists(st.integers(1, 30), max_size=20), min_size=2, max_size=8),
    st.randoms(use_true_random=False),
    st.integers(0, 3),
)
def test_the_order_in_which_documents_stand_does_not_matter(lengths: Any, random: Any, seed: int) -> None:
    order = list(range(len(lengths)))
    random.shuffle(order)
    here, there = _plain(lengths), _plain([lengths[i] for i in order], [f"w:{i}" for i in order])
    try:
        one = _build(here, seed=seed)
    except EmptyResultError:
        with pytest.raises(EmptyResultError):
            _build(there, seed=seed)
        return
    other = _build(there, seed=seed)
    place = np.concatenate(
        [
            np.arange(here.bucket.sentences[here.bucket.documents[i]], here.bucket.sentences[here.bucket.documents[i + 1]])
            for i in order
        ]
        or [[]]
    )
    special = other.input_ids < FIRST
    back = np.where(
        special, other.input_ids, place[np.where(special, 0, other.input_ids - FIRST).astype(int)] + FIRST if len(place) else 0
    )
    assert one.input_ids.tolist() == back.tolist()
    assert one.labels.tolist() == other.labels.tolist() and one.ends.tolist() == other.ends.tolist()
    assert one.token_type_ids.tolist() == other.token_type_ids.tolist()
    assert one.a_documents.tolist() == [order[i] for i in other.a_documents]
    assert one.b_documents.tolist() == [order[i] for i in other.b_documents]


@LAW
@given(DOCUMENTS, st.integers(0, 3))
def test_equal_calls_give_equal_pairs(documents: Any, seed: int) -> None:
    text = _text(documents)
    try:
        one, other = _build(text, seed=seed), _build(text, seed=seed)
    except EmptyResultError:
        assume(False)
        return
    for field in ("input_ids", "token_type_ids", "ends", "labels", "a_documents", "b_documents"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()


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
    assert tokens.dropped == Counter({"documents of one sentence": 12, "documents of no text": 0})


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
    """A sentence of control characters only gives no token; it may be the last of a bucket."""
    text = _text([document] if alone else [[[1, 1], [1, 1, 1]], [[1], [1]], document])
    _check(text, _build(text, short=0), 32)


def test_one_document_says_why_it_cannot() -> None:
    text = _plain([[10] * 100])
    with pytest.raises(
        EmptyResultError, match=r"bucket 0 of 1: w:0 holds most of the text.*more documents.*fewer --shards"
    ) as caught:
        _build(text)
    assert caught.value.exit_code == 3


def test_two_documents() -> None:
    text = _plain([[10] * 100, [8] * 120])
    rows = _check(text, _build(text), 32)
    assert len(rows) > 50 and abs(2 * sum(row.label for row in rows) - len(rows)) <= 2


def test_one_giant_document_among_small_ones() -> None:
    """Three quarters of the chunks are the giant's at most, or the error says so."""
    giant, small = [10] * 300, [[10] * 3 for _ in range(60)]
    text = _plain([giant, *small])
    rows = _check(text, _build(text), 32)
    giants = sum(row.a_document == 0 for row in rows)
    assert len(rows) / 2 < giants < 0.75 * len(rows)
    assert sum(row.label for row in rows if row.a_document == 0) <= sum(row.label for row in rows) / 2
    with pytest.raises(EmptyResultError, match="w:0 holds most of the text"):
        _build(_plain([[10] * 3000, *small]))


def test_many_documents_of_two_sentences() -> None:
    text = _plain(_sizes(2, 500, 2, 2))
    rows = _check(text, _build(text, 64), 64)
    assert len(rows) == 500 and sum(row.label for row in rows) == 250


@pytest.mark.parametrize("documents", [3, 5, 7, 9, 11])
def test_odd_numbers_of_exchanges_make_a_ring(documents: int) -> None:
    """2 x `documents` chunks of which an odd number is chosen."""
    for seed in range(20):
        text = _plain([[10, 10, 10, 10]] * documents)
        rows = _check(text, _build(text, 23, short=0, seed=seed), 23)
        assert len(rows) == 2 * documents and sum(row.label for row in rows) == documents


def test_words_that_fill_half_the_room_are_dropped_and_counted() -> None:
    text = _text([[[1, 40], [1, 1]], [[1, 1], [40, 1]], [[1, 1], [1, 1]]])
    built = _build(text, 32, short=0)
    _check(text, built, 32)
    assert built.tallies[1].dropped == Counter({"a word over half the length": 2})
    assert built.tallies[2].dropped["chunks of a word over half the length"] == 43 + 43


# --- statistics over many chunks ---


@pytest.fixture(scope="module")
def many() -> tuple[Text, Pairs, int]:
    """Documents of very different lengths, as in Wikipedia; over 20,000 chunks."""
    random = np.random.default_rng(3)
    counts = np.clip(random.lognormal(2.8, 1.0, 3600).astype(int), 1, 600)
    text = _plain([np.clip(random.lognormal(3.0, 0.6, n).astype(int), 1, 150).tolist() for n in counts])
    return text, _build(text, 128), 128


def _auc(score: np.ndarray, label: np.ndarray) -> float:
    """How often a NotNext pair scores above an IsNext pair; ties count half."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    positive = label == NOT_NEXT
    n, m = positive.sum(), (~positive).sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def test_the_auc_itself_sees_a_leak() -> None:
    label = np.arange(1000) % 2
    assert _auc(label, label) == 1 and _auc(np.ones(1000), label) == 0.5
    assert _auc(np.arange(1000), (np.arange(1000) > 499).astype(int)) == 1


def test_lengths_and_places_do_not_tell_the_label(many: tuple[Text, Pairs, int]) -> None:
    text, built, _length = many
    label = built.labels
    assert len(label) >= 20_000
    assert abs(int(label.sum()) * 2 - len(label)) <= 2
    whole = np.diff(built.ends)
    b = np.add.reduceat(built.token_type_ids, built.ends[:-1], dtype=np.int64) - 1
    a = whole - b - 3
    bounds = text.bucket.sentences[text.bucket.documents]
    begin = built.input_ids[built.ends[:-1] + 1].astype(np.int64) - FIRST - bounds[built.a_documents]
    size = np.diff(bounds)[built.a_documents]
    scores = {"pair": whole, "A": a, "B": b, "A's place": begin, "A's document": size, "share of A": a / (a + b)}
    told = {name: _auc(score, label) for name, score in scores.items()}
    assert all(abs(auc - 0.5) <= 0.02 for auc in told.values()), told


def test_rows_stand_in_random_order(many: tuple[Text, Pairs, int]) -> None:
    """A reader that takes rows as they stand must not get one label for half of the shard."""
    _text_, built, _length = many
    label, documents = built.labels.astype(int), built.a_documents
    row = np.arange(len(label))
    assert abs(_auc(row, label) - 0.5) <= 0.02
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
    assert documents.left > 3000 and not chunks.dropped
    assert tokens.dropped["truncation"] < 0.03 * tokens.entered
    assert built.ends[-1] / (len(built.labels) * length) > 0.6
    assert np.diff(built.ends).max() <= length


def test_the_large_bucket_keeps_every_law(many: tuple[Text, Pairs, int]) -> None:
    text, built, _length = many
    a_ids, b_ids = built.a_documents, built.b_documents
    assert (a_ids[built.labels == NOT_NEXT] != b_ids[built.labels == NOT_NEXT]).all()
    assert (a_ids[built.labels == IS_NEXT] == b_ids[built.labels == IS_NEXT]).all()
    places = built.input_ids[built.input_ids >= FIRST]
    assert np.bincount(places).max() == 1
    middle = np.flatnonzero(np.diff(built.token_type_ids.astype(int)) == 1)
    before, after = built.input_ids[middle - 1].astype(int), built.input_ids[middle + 1].astype(int)
    assert (after == before + 1)[built.labels == IS_NEXT].all() and not (after == before + 1)[built.labels == NOT_NEXT].any()
    assert np.isin(after - FIRST, text.bucket.sentences).all()


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
