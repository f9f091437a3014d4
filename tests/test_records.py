"""Records: what travels between stages keeps its values."""

from __future__ import annotations

import doctest
import json
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import records
from bertdata.records import Document, FileRange, Task

LAW = settings(deadline=None, max_examples=30)
PARTS = st.lists(st.builds(FileRange, st.text(), st.text(), st.integers(0, 2**62), st.integers(0, 2**62)), max_size=5)


def test_doctests() -> None:
    assert doctest.testmod(records).failed == 0


@LAW
@given(PARTS)
def test_a_task_is_named_by_its_parts_wherever_they_are(parts: list[FileRange]) -> None:
    here, there = (Task(1, "books", tuple(own)) for own in (parts, [p._replace(path="/elsewhere") for p in parts]))
    assert here.names() == there.names() == json.loads(json.dumps(here.names()))
    assert here.names() == [[p.name, p.start, p.end] for p in parts]
    assert pickle.loads(pickle.dumps(here)) == here


@LAW
@given(st.lists(st.lists(st.text(), min_size=1, max_size=4), max_size=5))
def test_paragraphs_put_together_are_the_sentences(paragraphs: list[list[str]]) -> None:
    starts = [sum(map(len, paragraphs[:i])) for i in range(len(paragraphs))]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    document = Document("w:1", "text", "en", "", "", sentences, starts)
    assert document.paragraphs() == paragraphs
