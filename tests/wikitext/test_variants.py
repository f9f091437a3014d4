"""Language variants: which word of ``-{…}-`` is shown, and what the rules of a page do."""

import pytest

from bertdata.wikitext import extract_paragraphs

ROWS = [
    ("the wiki's own order", "zh", "", "-{zh-hans:联邦州; zh-hant:邦}-", "联邦州"),
    ("the variant", "zh", "zh-tw", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("the nearest other", "zh", "zh-hk", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("raw text", "zh", "zh-tw", "-{域}-与-{R|zh-cn:x}-", "域与zh-cn:x"),
    ("nothing between", "zh", "", "德国联-{}-邦议院", "德国联邦议院"),
    ("in a link", "zh", "", "[[域 (數學)|-{zh-cn:域;zh-tw:體}-]]等", "域等"),
    ("a rule that is shown", "zh", "zh-tw", "软件-{A|zh-cn:软件;zh-tw:軟體}-软件", "软件軟體軟體"),
    ("a rule that is not", "zh", "zh-tw", "-{H|zh-cn:软件;zh-tw:軟體}-用软件", "用軟體"),
    ("a rule taken back", "zh", "zh-tw", "-{H|zh-cn:a;zh-tw:b}-a-{-|zh-cn:a;zh-tw:b}-a", "ba"),
    ("a one-way rule", "zh", "zh-tw", "-{H|鼠标=>zh-tw:滑鼠}-鼠标", "滑鼠"),
    ("rules leave the wiki's own order alone", "zh", "", "-{H|zh-cn:软件;zh-tw:軟體}-用軟體", "用軟體"),
    ("a title", "zh", "", "-{T|zh-cn:a;zh-tw:b}-文", "文"),
    ("NoteTA", "zh", "zh-tw", "{{NoteTA|G1=IT|1=zh-cn:软件;zh-tw:軟體}}\n用软件", "用軟體"),
    ("nested", "zh", "zh-tw", "-{zh-cn:a-{b}-c;zh-tw:d-{e}-f}-", "def"),
    ("a semicolon in a word", "zh", "zh-cn", "-{zh-cn:a&lt;b;zh-tw:c}-", "a<b"),
    ("Serbian", "sr", "sr-el", "-{sr-ec:Београд;sr-el:Beograd}- x", "Beograd x"),
    ("unclosed", "zh", "", "文-{字", "文-{字"),
]


@pytest.mark.parametrize(("language", "variant", "text", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_variants(language: str, variant: str, text: str, expected: str) -> None:
    assert extract_paragraphs(text, language=language, variant=variant) == [expected]
