"""Counts: text is counted from bytes as Python counts its strings, and sums of tasks lose no call of a template."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bertdata.dataset.shards import DocumentBatch
from bertdata.records import Document
from bertdata.stages.counts import count_text, count_words, under, without_rare_templates, without_text

SPACES = [chr(code) for code in range(0x110000) if chr(code).isspace()]
NEAR = "\u0084\u00a1\u167f\u1681\u1fff\u200b\u202e\u2060\u2fff\u3001\u0920"  # no whitespace, but nearly the same bytes
TEXTS = st.text(st.one_of(st.sampled_from(SPACES), st.sampled_from("ab\u00e9\u8336\U0001f375" + NEAR)), max_size=20)
DOCUMENTS = st.tuples(st.sampled_from(["en", "ja"]), st.lists(TEXTS, max_size=4))  # language and sentences


def batch_of(documents: list[tuple[str, list[str]]]) -> DocumentBatch:
    batch = DocumentBatch()
    for language, sentences in documents:
        batch.add(Document("a", "text", language, "", "", sentences, [0]))
    return batch


@given(documents=st.lists(DOCUMENTS, max_size=5), cut=st.integers(0, 5))
def test_text_is_counted_as_python_counts_it(documents: list[tuple[str, list[str]]], cut: int) -> None:
    counts, expected = Counter[str](), Counter[str]()
    count_text(batch_of(documents).take().slice(cut), counts)  # a part of a batch shares its buffers
    for language, sentences in documents[cut:]:
        expected[f"documents/{language}"] += 1
        expected[f"words/{language}"] += count_words(sentences)
        expected[f"characters/{language}"] += sum(map(len, sentences))
        expected["text_bytes"] += sum(len(sentence.encode()) for sentence in sentences)
    assert +counts == +expected
    assert not without_text(counts)


def test_every_whitespace_separates_words() -> None:
    counts = Counter[str]()
    count_text(batch_of([("en", [f"tea{space}cup" for space in SPACES])]).take(), counts)
    assert counts["words/en"] == 2 * len(SPACES)


def test_documents_of_one_long_sentence_are_counted() -> None:
    counts, long = Counter[str](), "é" * 1001
    count_text(batch_of([("fr", [long]), ("fr", [long, "b"]), ("fr", ["é" * 1000]), ("fr", [long])]).take(), counts)
    assert counts["unsplit_documents"] == 2


def test_rare_templates_are_left_out_of_a_sum() -> None:
    counts = Counter({f"templates/{name}": n for n, name in enumerate("abcdef/")} | {"templates_calls": 21, "in": 3})
    kept = without_rare_templates(counts, 3)
    assert under(kept, "templates") == {"e": 4, "f": 5, "/": 6}
    assert kept["templates_calls"] == 21 and kept["in"] == 3
    assert without_rare_templates(kept, 3) is kept
