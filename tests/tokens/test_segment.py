"""Chinese words: complete, in order, and harmless to the pieces."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.tokens.segment import Segmenter, is_chinese
from bertdata.tokens.vocab import SPECIAL, Vocabulary


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    pytest.importorskip("jieba", reason="the extra `chinese` is not installed")
    return Segmenter()


def test_words_of_a_sentence(segmenter: Segmenter) -> None:
    parts = list(segmenter.parts("他在北京大学读书，not for long。"))
    assert parts == [("他在", False), ("北京大学", True), ("读书", True), ("，not for long。", False)]


TEXT = st.text(
    st.one_of(st.sampled_from("我们的北京大学研究生命起源的。，a b\u0301㐀豈𠀀"), st.characters(exclude_categories=["Cs"])),
    max_size=30,
)


@settings(deadline=None, max_examples=150)
@given(TEXT)
def test_the_parts_are_the_sentence_and_give_its_pieces(segmenter: Segmenter, text: str) -> None:
    parts = list(segmenter.parts(text))
    assert "".join(part for part, _ in parts) == text
    vocabulary = Vocabulary([*SPECIAL, *"我们的北京大学研究起源。，ab", "##b"], lowercase=True, strip_accents=True)
    tokenizer = vocabulary.tokenizer()
    whole = tokenizer.encode(text, add_special_tokens=False).ids
    pieces = [tokenizer.encode(part, add_special_tokens=False).ids for part, _ in parts]
    assert [i for part in pieces for i in part] == whole
    assert all(len(ids) == len(part) for ids, (part, word) in zip(pieces, parts, strict=True) if word)


@pytest.mark.parametrize(("code", "expected"), [("zh", True), ("zh-hant", True), ("yue", True), ("ja", False), ("", False)])
def test_which_languages(code: str, expected: bool) -> None:
    assert is_chinese(code) is expected


def test_without_jieba_the_message_names_the_fix(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(UsageError, match=r"bertdata\[chinese\]"):
        Segmenter()
