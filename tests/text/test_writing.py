"""The script of a document is that of most of its letters; Chinese is simplified or traditional as its characters are."""

from __future__ import annotations

import pytest

from bertdata.text.language import writing


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("zh", "他们说这个国家有很多鱼", "Hans"),
        ("zh", "他們說這個國家有很多魚", "Hant"),
        ("zh-tw", "他们说这个国家", "Hans"),  # as the text is, not as its code says
        ("zh-cn", "他們說這個國家", "Hant"),
        ("zh", "他們說這個國家，他们说", "Hant"),  # the majority
        ("zh", "他们说这个国家，他們說", "Hans"),
        ("zh", "tea and more tea", "Latn"),
        ("zh-yue", "佢哋講嘢", "Hant"),
        ("und", "これはお茶です", "Jpan"),
        ("und", "Чай и кофе", "Cyrl"),
        ("und", "차를 마신다", "Kore"),
        ("und", "Οι άνθρωποι", "Grek"),
        ("und", "1234 !?", "Zyyy"),
        ("", "Tea", "Latn"),
        ("sr", "Чај", "Cyrl"),
        ("sr", "Čaj", "Latn"),
        ("ja", "茶", "Jpan"),
    ],
)
def test_script(language: str, text: str, expected: str) -> None:
    assert writing.script(language, text) == expected


def test_characters_of_one_variant_only_agree_with_opencc() -> None:
    opencc = pytest.importorskip("opencc")
    to_simplified, to_traditional = opencc.OpenCC("t2s"), opencc.OpenCC("s2t")
    simplified, traditional = writing.characters()
    assert (len(simplified), len(traditional)) == (2380, 2083)
    assert not simplified & traditional
    assert sum(to_traditional.convert(c) != c for c in simplified) > 0.9 * len(simplified)
    assert sum(to_simplified.convert(c) != c for c in traditional) > 0.9 * len(traditional)
    assert sum(to_simplified.convert(c) != c for c in simplified) + sum(to_traditional.convert(c) != c for c in traditional) < 5


def test_long_hostile_text_takes_milliseconds() -> None:
    assert writing.script("zh", "\ud800" * 10 + "們" * 1_000_000) == "Hant"
