"""Sentences: one worked example per rule and language, nothing lost but whitespace, linear time, and the scorer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.text.sentences import split, split_sentences

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"

EXAMPLES = [  # language, sentences; the rule is what their join would break without it
    ("en", ["The tea is ready.", "Is it hot?", "Yes!"]),
    ("en", ['He said, "I will go.', 'You stay."', "Then he left."]),
    ("en", ['"Stop!" Anna cried.', '"Why?"', '"Because it rains."']),
    ("en", ['"I am fine." she said.', "“Come in.", "Sit down.”", "They sat."]),
    ("en", ["'Go away.", "Now,' he said.", "It is John's.", "‘Come in.", "Sit.’"]),
    ("en", ["He wrote, ''\"The tea is cold.", "It can't be drunk.\"''", "She laughed."]),
    ("en", ["He came in 1990.", "Anna left in May.", "It was 5 p.m. by then."]),
    ("en", ["She slept.", "(It was late.", "The lamp was out.)", "He read (see p. 5. Also p. 6.) and wrote."]),
    ("en", ["He was born there.[1][2]", "He left it. [3]", "She stayed."]),
    ("en", ["So they say. 4", "Even so it holds."]),
    ("en", ["Dr. Ames met J. K. Lowe at 5 p.m. on Jan. 3.", "He paid $3.50 for 2.5 kg."]),
    ("en", ["He went…", "Then he came back.", "He… well, he sat."]),
    ("en", ["No. 5 is empty.", "It cost him his voc. ed. class."]),
    ("de", ["Am 3. Mai 1990 kam er an.", "Er wohnt im 6. Stock.", "Das 18. Jahrhundert war lang."]),
    ("de", ["``Er geht.", "''Anna sagte, es sei ``kalt'' gewesen."]),
    ("de", ["Dr. Kern kommt z. B. am Abend.", "7 Tage blieb er.", "Auf der 35. Tagung sprach er."]),
    ("de", ["„Wer ist da?", "Ich komme.“", "Er ging.", "»Ja.", "Nein.«", "``Gut.''", "Er lachte."]),
    ("fr", ["Il dit : « Venez ici.", "Restez. »", "Puis il sortit.", "Voilà !"]),
    ("es", ["¿Qué hora es?", "¡Son las tres!", "El Sr. Gómez dijo: «Vete.", "Ya.»", "Luego salió."]),
    ("it", ["Il sig. Rossi è qui.", "«Vieni.", "Siediti.»", "Poi uscì."]),
    ("pt", ["O Sr. Silva chegou.", "“Vem.", "Senta.”", "Depois saiu."]),
    ("nl", ["Dhr. Jansen is er.", '"Kom.', 'Ga zitten."', "Toen ging hij."]),
    ("pl", ["Dr Nowak jest tu.", "„Kto tam?", "Idę.”", "Mieszka przy ul. Długiej."]),
    ("ru", ["Он пришёл.", "«Кто там?", "Я иду.»", "Г. Иванов здесь."]),
    ("sv", ["Han kom.", '"Vem är där?', 'Jag kommer."', "Hon gick."]),
    ("tr", ["Dr. Kaya geldi.", '"Kim o?', 'Geliyorum."', "Gitti."]),
    ("ko", ["그는 왔다.", '"누구세요?', '갑니다."', "그녀는 갔다."]),
    ("hi", ["वह आया।", "वह गया।", "क्या हाल है?", "ठीक है।"]),
    ("ar", ["جاء الرجل.", "هل أنت بخير؟", "نعم."]),
    ("zh", ["他说：“今天很好。", "我们走吧！”", "然后他走了。", "《你好！》是书名。"]),
    ("zh", ["（他笑了。）", "好……是吗？", "1999年他来了。", "“好。”他说。", "他问：“谁？”。", "没有人（真的。一个也没有）来。"]),
    ("zh-tw", ["「今天很好。", "我們走吧！」", "然後他走了。"]),
    ("ja", ["「今日は。", "いい天気ですね。」と彼は言った。", "そうですか？", "2011年に来た。"]),
    ("unknown", ["The tea is ready.", "Dr. Ames is here."]),
    ("", ["The tea is ready.", "Is it hot?"]),
]  # fmt: skip


def test_a_paragraph_is_split_where_its_sentences_end() -> None:
    for language, expected in EXAMPLES:
        join = "" if language[:2] in ("zh", "ja") else " "
        assert split_sentences(join.join(expected), language) == expected


@pytest.mark.parametrize("paragraph", ["", " ", "\n\t\u3000", " " * 10_000])
def test_white_space_has_no_sentence(paragraph: str) -> None:
    assert split_sentences(paragraph) == []
    assert split_sentences(paragraph, "zh") == []


def test_an_enumerator_is_no_sentence_and_a_number_opens_the_next_one_in_german() -> None:
    assert split_sentences("1. Tea. 2. Cake.") == ["1. Tea.", "2. Cake."]
    assert split_sentences("Er zahlt. 2. Der Mieter geht.", "de") == ["Er zahlt.", "2. Der Mieter geht."]


def test_a_long_paragraph_is_split_as_its_parts_are() -> None:
    parts = [f"Dr. Ames has {n} cups of tea (or so). He said, “I like it.” It was {n} p.m. by then." for n in range(300)]
    assert split_sentences(" ".join(parts)) == [sentence for part in parts for sentence in split_sentences(part)]


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\u2028", "\u202f", "\u3000"])
def test_white_space_that_breaks_the_library_breaks_nothing_here(space: str) -> None:
    assert split_sentences(f"It was plan B{space}.{space}We left.") == [f"It was plan B{space}.", "We left."]


def test_a_library_that_breaks_down_leaves_the_paragraph_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = type("PanicException", (BaseException,), {})

    def panic(language: str, text: str) -> list[str]:
        raise broken

    monkeypatch.setattr(split, "segment", panic)
    assert split_sentences("The tea is ready. He came.") == ["The tea is ready. He came."]


def test_a_library_that_loses_text_loses_none_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "segment", lambda language, text: [text[:3]])
    assert split_sentences("The tea is ready. He came.") == ["The tea is ready. He came."]
    monkeypatch.setattr(split, "segment", lambda language, text: [])
    assert split_sentences("Tea. " * 1000) == [("Tea. " * 1000).strip()]


LANGUAGES = st.sampled_from(["en", "de", "zh", "ja", "fr", "fi", "th", "xx", ""])
PIECES = st.sampled_from(
    [
        " ",
        "  ",
        "\n",
        ".",
        "!",
        "?",
        "…",
        "...",
        '"',
        "'",
        "''",
        "``",
        "“",
        "”",
        "(",
        ")",
        "[1]",
        "[",
        "]",
        "A",
        "b",
        "Dr.",
        "im",
        "3.",
        "7",
    ]
    + ["。", "！", "」", "「", "と", "茶", "é", "É", "\u2028", "said", "“Go!” Anna said", "\x1f", "\x85", "«", "»", "The"]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(), LANGUAGES)
def test_nothing_is_lost_but_white_space(paragraph: str, language: str) -> None:
    found = split_sentences(paragraph, language)
    assert "".join("".join(found).split()) == "".join(paragraph.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_region_of_a_language_makes_no_difference(paragraph: str) -> None:
    assert split_sentences(paragraph, "de-AT") == split_sentences(paragraph, "de")


LEAST = {  # F1 of boundaries by language; what is left is mostly headlines without a mark
    "dev_sentences.jsonl.xz": {"en": 98.2, "de": 98.6, "zh": 99.7, "ja": 99.7},
    "dev_sentences_more.jsonl.xz": {
        "ar": 92.0,
        "el": 95.5,
        "es": 98.3,
        "fi": 92.7,
        "fr": 94.8,
        "he": 99.3,
        "hi": 99.6,
        "hu": 99.5,
        "hy": 99.8,
        "id": 96.8,
        "it": 93.0,
        "ko": 95.0,
        "mr": 98.5,
        "nl": 95.8,
        "pl": 98.3,
        "pt": 93.6,
        "ru": 97.5,
        "sv": 97.7,
        "ta": 99.3,
        "tr": 92.5,
        "uk": 98.6,
        "vi": 98.5,
        "th": 50.0,
        "cs": 99.1,
        "ur": 98.8,
    },
}


@pytest.mark.parametrize(("gold_name", "least"), LEAST.items())
@pytest.mark.slow
def test_the_scorer_agrees(gold_name: str, least: dict[str, float]) -> None:
    scorer = SHARED / "tools" / "score_sentences.py"
    if not scorer.exists():
        pytest.skip("../shared with its treebank sentences is not here")
    gold = SHARED / "extraction" / gold_name
    command = [sys.executable, str(scorer), "bertdata.text.sentences:split_sentences", "--gold", str(gold)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=env)
    score = {line.split()[0]: float(line.split()[2]) for line in done.stdout.splitlines()}
    assert {name: value for name, value in least.items() if score[f"{name}-ALL"] < value} == {}
