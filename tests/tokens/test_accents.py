"""Accents: kept where they are letters, and stripped as BERT does where nearly all text is English, or by the option."""

from __future__ import annotations

import doctest
import json
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, read_manifest, read_rows
from test_encode import CHARACTERS, by_library, split
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

import bertdata
from bertdata.config import VocabConfig
from bertdata.stages import vocab as building
from bertdata.tokens.encode import Encoder, choose
from bertdata.tokens.read import read_any
from bertdata.tokens.train import blank, count_parts, parts_to_words, train

# language -> text, its words with accents kept, and as BERT has them: the marks are vowel signs, viramas, tones, voiced sounds
SCRIPTS = {
    "bn": ("আফগানিস্তানে", ["আফগানিস্তানে"], ["আফগানিসতানে"]),
    "hi": ("हिन्दी में", ["हिन्दी", "में"], ["हिनदी", "म"]),
    "mr": ("पुण्यात", ["पुण्यात"], ["पणयात"]),
    "ta": ("கற்பி", ["கற்பி"], ["கறபி"]),
    "th": ("ที่นี่", ["ที่นี่"], ["ทน"]),
    "ja": ("ゲームがパン", ["ゲームがパン"], ["ケームかハン"]),
    "ko": ("한국", ["한국"], ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]),
    "uk": ("Її Йод", ["її", "йод"], ["іі", "иод"]),
    "ru": ("Ёлка мой", ["ёлка", "мой"], ["елка", "мои"]),
    "vi": ("Tiếng Việt đó", ["tiếng", "việt", "đó"], ["tieng", "viet", "đo"]),
    "tr": ("İzmir'de IĞDIR ıslak", ["i\u0307zmir", "'", "de", "iğdir", "ıslak"], ["izmir", "'", "de", "igdir", "ıslak"]),
    "ar": ("مُدَرِّس آخر", ["مُدَرِّس", "آخر"], ["مدرس", "اخر"]),
    "he": ("שָׁלוֹם", ["שָׁלוֹם"], ["שלום"]),
    "el": ("ΟΔΟΣ Άλφα ὁδός", ["οδοσ", "άλφα", "ὁδός"], ["οδοσ", "αλφα", "οδος"]),
    "de": ("Äpfel für Öl", ["äpfel", "für", "öl"], ["apfel", "fur", "ol"]),
    "zh": ("咖啡Café", ["咖", "啡", "café"], ["咖", "啡", "cafe"]),
    "en": ("Café naïve", ["café", "naïve"], ["cafe", "naive"]),
}


def bare(strip: bool, lowercase: bool = True) -> Tokenizer:
    return blank(VocabConfig(lowercase=lowercase), strip)


def count_words(texts: list[str], tokenizer: Tokenizer) -> Counter[str]:
    return parts_to_words(count_parts(texts, "wordpiece"), tokenizer)


def test_doctests() -> None:
    assert doctest.testmod(building).failed == 0


@pytest.mark.parametrize("language", SCRIPTS)
def test_words_of_a_script(language: str) -> None:
    """The counted words are worked out by hand, and are what `tokenizers` makes of the text."""
    text, *expected = SCRIPTS[language]
    for strip, words in zip((False, True), expected, strict=True):
        oracle = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip, lowercase=True)
        assert oracle.normalize_str(text).split() == " ".join(words).replace(" ' ", "'").split()
        assert count_words([text], bare(strip)) == Counter(words)


@pytest.mark.parametrize("strip", [False, True])
def test_ids_of_every_script_are_those_of_the_library(strip: bool) -> None:
    texts = [text for text, *_ in SCRIPTS.values()]
    words = Counter({word: 3 for text in texts for word in count_words([text], bare(strip))})
    vocabulary = choose(train(words, VocabConfig(size=600, strip_accents=strip)))
    found = split(*Encoder(vocabulary).encode(texts))
    assert found == by_library(vocabulary, texts) and vocabulary.special.unk not in sum(found, [])


@pytest.mark.slow
def test_accents_come_off_counted_words_as_they_come_off_text() -> None:
    """train-vocab strips them from what it has counted: no character, beside letters or marks, makes a difference."""
    letters = [c for c in map(chr, CHARACTERS[::5]) if c != "." and not c.isspace()]
    with_accents, without = bare(False), bare(True)
    for text in [text for c in letters for text in (f"a{c}e\u0301", f"{c}\u0301\U0001d165\u0323é")]:
        words = Counter[str]()
        for word, count in count_words([text], with_accents).items():
            words.update({plain: count * times for plain, times in count_words([word], without).items()})
        assert words == count_words([text], without), ascii(text)


@pytest.mark.parametrize(
    ("characters", "strip", "why"),
    [
        ({"en": 3, "simple": 1, "en-GB": 1}, True, "stripped, as 100.0 % of the text is English"),
        ({"en": 980, "vi": 20}, True, "stripped, as 98.0 % of the text is English (vi 2.0 %)"),
        ({"en": 979, "vi": 21}, False, "kept, because less than 98 % of the text is English (vi 2.1 %)"),
        ({"en": 3, "": 1}, False, "kept, because less than 98 % of the text is English (unknown 25.0 %)"),
        ({"zh": 3}, False, "kept, because they distinguish words in languages other than English"),
    ],
)
def test_the_share_of_english_text_decides(characters: dict[str, int], strip: bool, why: str) -> None:
    assert building._accents(VocabConfig(), Counter(characters)) == (strip, why)
    assert building._accents(VocabConfig(strip_accents=not strip), Counter(characters))[0] is not strip


@pytest.fixture(scope="module")
def corpora(build: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An English corpus, and one with every script in it."""
    root, made = tmp_path_factory.mktemp("corpora"), {}
    english = [("en", "The café was naïve and the façade too. They drank tea there.")]
    every = [(language, f"{text} {text} 1. {text} 2.") for language, (text, *_) in SCRIPTS.items()]
    for name, texts in (("english", english), ("every", english + every)):
        path = root / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, (language, text) in enumerate(texts * 4):
                row = {"title": f"{language} {number}", "text": f"{text} {number}.", "language": language}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        options = ("--min-letters", 0, "--max-repeated", 1, "--max-digits", 1)
        made[name] = build("build-corpus", root / name, "--text", path, *options)
        # Documents exchange text within their language only: a language with one document is in no pair.
        assert read_manifest(made[name])["rows"] == 4 * len(texts)
    return made


def words_of(directory: Path) -> set[str]:
    return {piece for piece in read_any(directory).pieces if not piece.startswith("##")}


OPTIONS = ["--size", 900, "--min-frequency", 1]


def test_accents_are_kept_in_other_languages_and_in_rows(build: Build, corpora: dict[str, Path], tmp_path: Path) -> None:
    made = build("train-vocab", tmp_path / "v", corpora["every"], *OPTIONS)
    assert '"strip_accents": false' in (made / "tokenizer_config.json").read_text()
    assert {word for _, kept, _ in SCRIPTS.values() for word in kept} <= {*read_any(made).pieces}
    assert all(share["unknown_share"] == 0 for share in read_manifest(made)["coverage"].values())
    rows = build("make-pairs", tmp_path / "p", corpora["every"], "--vocab", made, "--max-seq-length", 64)
    assert read_any(rows) == read_any(made) and read_manifest(rows)["statistics"]["unknown_share"] == 0
    pieces = read_any(rows).pieces
    assert {"আফগানিস্তানে", "її", "한국", "việt"} <= {pieces[id] for row in read_rows(rows) for id in row["input_ids"]}
    assert not bertdata.verify(made).problems and not bertdata.verify(rows).problems


def test_strip_accents_gives_what_bert_has(build: Build, corpora: dict[str, Path], tmp_path: Path) -> None:
    """The same vocabulary as of text whose accents `tokenizers` has stripped before anything was counted."""
    made = build("train-vocab", tmp_path / "v", corpora["every"], *OPTIONS, "--strip-accents")
    text = [sentence for row in read_rows(corpora["every"]) for sentence in row["sentences"]]
    oracle = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    words = count_words([oracle.normalize_str(sentence) for sentence in text], bare(True))
    assert read_any(made) == train(words, VocabConfig(size=900, min_frequency=1, strip_accents=True))
