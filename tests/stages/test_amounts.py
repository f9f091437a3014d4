"""Amounts of text, counted from the bytes of a batch, are what Python counts of its strings."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.dataset.shards import DocumentBatch
from bertdata.records import Document
from bertdata.stages.text_counts import Amounts, count_words

SPACES = [chr(code) for code in range(0x110000) if chr(code).isspace()]
NEAR = "\u0084\u00a1\u167f\u1681\u1fff\u200b\u202e\u2060\u2fff\u3001\u0920"  # no whitespace, but nearly the same bytes
TEXTS = st.text(st.one_of(st.sampled_from(SPACES), st.sampled_from("ab\u00e9\u8336\U0001f375" + NEAR)), max_size=20)


DOCUMENTS = st.tuples(st.sampled_from(["en", "ja"]), st.lists(TEXTS, max_size=4))  # languages and sentences


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(
    documents=st.lists(st.tuples(st.sampled_from(["en", "ja"]), st.lists(TEXTS, max_size=4)), max_size=5), cut=st.integers(0, 5)
)
def test_amounts_are_what_python_counts(documents: list[tuple[str, list[str]]], cut: int) -> None:
    built = DocumentBatch()
    for language, sentences in documents:
        built.add(Document("a", "text", language, "", "", sentences, [0]))
    amounts, expected = Amounts(), dict[str, Counter[str]]()
    amounts.add(built.take().slice(cut))  # a part of a batch shares its buffers
    for language, sentences in documents[cut:]:
        own = {"documents": 1, "words": count_words(sentences), "characters": sum(map(len, sentences))}
        expected.setdefault(language, Counter()).update(own)
    assert amounts.to_json() == {language: dict(own) for language, own in expected.items()}


def test_each_white_space_parts_words() -> None:
    built = DocumentBatch()
    built.add(Document("a", "text", "en", "", "", [f"tea{space}cup" for space in SPACES], [0]))
    amounts = Amounts()
    amounts.add(built.take())
    assert amounts.to_json()["en"]["words"] == 2 * len(SPACES)
