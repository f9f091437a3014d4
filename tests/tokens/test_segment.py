"""Chinese words: complete, in order, and harmless to the pieces."""

from __future__ import annotations

import pytest

from bertdata.tokens.segment import _simplified, is_chinese, parts

for module in ("jieba", "opencc"):
    pytest.importorskip(module, reason="the extra `chinese` is not installed")


def test_words_of_a_sentence() -> None:
    found = list(parts("他在北京大学读书，not for long。"))
    assert found == [("他在", False), ("北京大学", True), ("读书", True), ("，not for long。", False)]


BOTH = (  # sentences in simplified characters and in those of Taiwan or Hong Kong
    ("社会学家有时会问她们的历史老师。", "社會學家有時會問她們的歷史老師。"),
    ("这台机器处理并储存高准确度的地理学资料。", "這台機器處理並儲存高準確度的地理學資料。"),
    ("他看着著名的书，什么也没说。", "他看著著名的書，什麼也沒說。"),
    ("乾隆年间的衣服洗干净了，干部们很高兴。", "乾隆年間的衣服洗乾淨了，幹部們很高興。"),
    ("图书馆后面住着皇后和文徵明的邻居。", "圖書館後面住著皇后和文徵明的鄰居。"),
    ("台风过后，理发师发现面粉湿了。", "颱風過後，理髮師發現麵粉濕了。"),
    ("卫生署在里面叙述了十里长街的钟表店。", "衞生署在裏面敍述了十里長街的鐘錶店。"),
)


@pytest.mark.parametrize(("simplified", "traditional"), BOTH)
def test_traditional_sentences_are_cut_as_simplified_ones(simplified: str, traditional: str) -> None:
    words, others = (list(parts(sentence)) for sentence in (simplified, traditional))
    assert [(len(part), word) for part, word in others] == [(len(part), word) for part, word in words]
    assert "".join(part for part, _ in others) == traditional, "its own characters stay"


@pytest.mark.parametrize(
    "word", ["著名", "看着", "看著", "乾隆", "乾淨", "干净", "文徵明", "什么", "什麼", "哪吒", "衞生", "衛生"]
)
def test_words_whose_characters_both_scripts_have(word: str) -> None:
    assert list(parts(word)) == [(word, True)]


def test_each_character_becomes_one_that_stays() -> None:
    table = _simplified()
    assert len(table) > 3000 and all(len(new) == 1 for new in table.values())
    assert not {ord(new) for new in table.values()} & table.keys()
    assert "歷史學家爲著衞裡".translate(table) == "历史学家为着卫里" and "历史学家什么".translate(table) == "历史学家什么"


@pytest.mark.parametrize(("code", "expected"), [("zh", True), ("zh-hant", True), ("yue", True), ("ja", False), ("", False)])
def test_which_languages(code: str, expected: bool) -> None:
    assert is_chinese(code) is expected
