"""Accents: kept where they are letters, taken off as BERT does where nearly all text is English, in each case as asked."""

from __future__ import annotations

import doctest
import json
import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, Run, read_manifest, read_rows
from test_tokens import CHARACTERS, MOST_TELLING, by_library, count_words, split
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

from bertdata.config import VocabConfig
from bertdata.reports import vocabulary_warnings as report
from bertdata.stages import vocab as building
from bertdata.tokens import vocab
from bertdata.tokens.encoder import Encoder
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL, Vocabulary

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
STRIP = {"kept": False, "taken off": True}


def blank(strip_accents: bool, lowercase: bool = True) -> Tokenizer:
    return Vocabulary(list(SPECIAL), lowercase, strip_accents).tokenizer()


def test_doctests() -> None:
    assert doctest.testmod(report).failed == doctest.testmod(building).failed == 0


# --- words and ids ---


@pytest.mark.parametrize("language", SCRIPTS)
def test_words_of_a_script(language: str) -> None:
    """What is counted is worked out by hand, and is what `tokenizers` makes of the text by itself."""
    text, *expected = SCRIPTS[language]
    for strip, words in zip((False, True), expected, strict=True):
        oracle = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip, lowercase=True)
        assert oracle.normalize_str(text).split() == " ".join(words).replace(" ' ", "'").split()
        assert count_words([text], blank(strip)) == Counter(words)


@pytest.mark.parametrize("strip", STRIP.values(), ids=STRIP)
def test_ids_of_every_script_are_those_of_the_libraries(strip: bool, tmp_path: Path) -> None:
    texts = [text for text, *_ in SCRIPTS.values()]
    words = Counter({word: 3 for text in texts for word in count_words([text], blank(strip))})
    vocabulary = vocab.train(words, VocabConfig(size=600, strip_accents=strip))
    vocab.write(tmp_path, vocabulary)
    assert read_any(tmp_path) == vocabulary and vocabulary.strip_accents is strip
    found = split(*Encoder(vocabulary.tokenizer(), vocabulary.pieces).encode(texts))
    assert found == by_library(vocabulary, texts)
    assert vocabulary.pieces.index("[UNK]") not in sum(found, [])
    file = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [file.encode(text, add_special_tokens=False).ids for text in texts] == found
    transformers = pytest.importorskip("transformers")
    loaded = transformers.BertTokenizerFast.from_pretrained(str(tmp_path))
    assert [loaded(text, add_special_tokens=False)["input_ids"] for text in texts] == found


@pytest.mark.parametrize("strip", STRIP.values(), ids=STRIP)
@pytest.mark.long
def test_ids_of_25_languages(shared: Path, strip: bool) -> None:
    with lzma.open(shared / "extraction" / "dev_sentences_more.jsonl.xz", "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    assert len({record["language"] for record in found}) == 25
    text = [sentence for record in found for sentence in record["sentences"]][strip::4]  # a quarter of those of each language
    vocabulary = vocab.train(count_words(text, blank(strip)), VocabConfig(size=6000, strip_accents=strip))
    assert split(*Encoder(vocabulary.tokenizer(), vocabulary.pieces).encode(text)) == by_library(vocabulary, text)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.long
@pytest.mark.slow
def test_accents_come_off_counted_words_as_they_come_off_text(lowercase: bool) -> None:
    """train-vocab takes them off what it has counted: no character, beside letters or marks, makes a difference."""
    codes = CHARACTERS if lowercase else MOST_TELLING
    letters = [chr(code) for code in codes if chr(code) != "." and not chr(code).isspace()]
    texts = [text for c in letters for text in (f"a{c}e\u0301", f"{c}\u0301\U0001d165\u0323é")]
    with_accents, without = blank(False, lowercase), blank(True, lowercase)
    for text in texts:
        words = Counter[str]()
        for word, count in count_words([text], with_accents).items():
            words.update({bare: count * times for bare, times in count_words([word], without).items()})
        assert words == count_words([text], without), ascii(text)


# --- what is chosen for a corpus ---


@pytest.mark.parametrize(
    ("characters", "strip", "why"),
    [
        ({"en": 3}, True, "taken off: 100.0 % of the text is English, at least 98 %"),
        ({"en": 3, "simple": 1, "en-GB": 1}, True, "taken off: 100.0 % of the text is English, at least 98 %"),
        ({"en": 980, "vi": 20}, True, "taken off: 98.0 % of the text is English, at least 98 % (others: vi 2.0 %)"),
        ({"en": 979, "vi": 21}, False, "kept: 97.9 % of the text is English, less than 98 % (others: vi 2.1 %)"),
        ({"en": 3, "": 1}, False, "kept: 75.0 % of the text is English, less than 98 % (others: unknown 25.0 %)"),
        ({"zh": 2}, False, "kept: none of the text is English (others: zh 100.0 %)"),
        ({}, False, "kept: none of the text is English"),
        (
            dict(zip(SCRIPTS, range(1, 18), strict=True)),
            False,
            "kept: 11.1 % of the text is English, less than 98 % "
            "(others: zh 10.5 %, de 9.8 %, el 9.2 %, he 8.5 %, ar 7.8 %, and 11 more languages)",
        ),
    ],
)
def test_the_share_of_english_text_decides(characters: dict[str, int], strip: bool, why: str) -> None:
    assert building._accents(VocabConfig(), Counter(characters)) == (strip, why)


def test_a_few_foreign_books_do_not_keep_accents(build: Build, tmp_path: Path) -> None:
    """A share of the documents would: one of 8 is Dutch, but a hundredth of the text."""
    english = "The kettle sings in the kitchen of house {} while the old man reads his paper and waits for the tea. "
    dutch = "De ketel zingt in de keuken van huis {} en de oude man leest zijn krant, één voor één. "
    texts = ["".join(english.format(100 * story + place) for place in range(80)) for story in range(7)]
    texts.append("".join(dutch.format(place) for place in range(6)))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    corpus = build("build-corpus", tmp_path / "corpus", "--text", tmp_path / "a.jsonl")
    made = read_manifest(build("train-vocab", tmp_path / "vocab", corpus, "--size", 300))
    assert made["config"]["strip_accents"] is True
    assert made["accents"].startswith("taken off: 99.") and "(others: nl 0." in made["accents"]


@pytest.mark.parametrize("strip", [True, False])
def test_what_is_asked_for_is_done(strip: bool) -> None:
    told = "taken off: as was asked for" if strip else "kept: as was asked for"
    for languages in ({"en": 3}, {"hi": 3}):
        assert building._accents(VocabConfig(strip_accents=strip), Counter(languages)) == (strip, told)
    assert building._accents(VocabConfig(lowercase=False), Counter(en=3)) == (False, "kept: as case is")


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


def test_of_english_accents_are_taken_off(run: Run, corpora: dict[str, Path], tmp_path: Path) -> None:
    shown = run("train-vocab", corpora["english"], *OPTIONS, "--output", tmp_path / "v", "--workers", 1).stdout
    assert "accents taken off: 100.0 % of the text is English, at least 98 %" in shown
    made = read_manifest(tmp_path / "v")
    assert (
        made["accents"] == "taken off: 100.0 % of the text is English, at least 98 %" and made["config"]["strip_accents"] is True
    )
    assert {"cafe", "naive", "facade"} <= words_of(tmp_path / "v")
    assert json.loads((tmp_path / "v" / "tokenizer_config.json").read_text())["strip_accents"] is True
    assert "accents taken off" in run("inspect", tmp_path / "v").stdout
    run("verify", tmp_path / "v")


def test_of_other_languages_they_are_kept_and_so_they_are_in_pairs(
    run: Run, build: Build, corpora: dict[str, Path], tmp_path: Path
) -> None:
    shown = run("train-vocab", corpora["every"], *OPTIONS, "--output", tmp_path / "v", "--workers", 1).stdout
    made = read_manifest(tmp_path / "v")
    assert made["config"]["strip_accents"] is False and f"accents {made['accents']}" in shown
    assert re.fullmatch(r"kept: \d+\.\d % .* less than 98 % \(others: .*, and 11 more languages\)", made["accents"])
    for file in ("tokenizer_config.json", "tokenizer.json"):
        assert '"strip_accents": false' in (tmp_path / "v" / file).read_text()
    assert {word for _, kept, _ in SCRIPTS.values() for word in kept} <= words_of(tmp_path / "v")
    assert all(share["unknown_share"] == 0 for share in made["coverage"].values())
    pairs = build("make-pairs", tmp_path / "p", corpora["every"], "--vocab", tmp_path / "v", "--max-seq-length", 64)
    assert read_any(pairs) == read_any(tmp_path / "v")
    assert read_manifest(pairs)["statistics"]["unknown_share"] == 0
    pieces = read_any(pairs).pieces
    found = {pieces[id] for row in read_rows(pairs) for id in row["input_ids"]}
    assert {"আফগানিস্তানে", "її", "한국", "việt"} <= found
    run("verify", tmp_path / "v", pairs)


def test_strip_accents_gives_what_bert_has(build: Build, corpora: dict[str, Path], tmp_path: Path) -> None:
    """The same vocabulary as of text whose accents `tokenizers` has taken off before anything was counted."""
    made = build("train-vocab", tmp_path / "v", corpora["every"], *OPTIONS, "--strip-accents")
    text = [sentence for row in read_rows(corpora["every"]) for sentence in row["sentences"]]
    oracle = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    config = VocabConfig(size=900, min_frequency=1, strip_accents=True)
    bert = vocab.train(count_words([oracle.normalize_str(each) for each in text], blank(True)), config)
    vocab.write(tmp_path, bert)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        assert (made / name).read_bytes() == (tmp_path / name).read_bytes()
    assert read_manifest(made)["accents"] == "taken off: as was asked for"
    kept = build("train-vocab", tmp_path / "k", corpora["english"], *OPTIONS, "--no-strip-accents")
    assert {"café", "naïve", "façade"} <= words_of(kept)


def test_workers_and_tasks_make_no_difference(build: Build, corpora: dict[str, Path], tmp_path: Path) -> None:
    """French text, in another task than the English text, keeps the accents of all."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(3):
        line = {"text": f"The café was naïve. Number {number} was there. " * 3, "language": "en"}
        (texts / f"{number}.jsonl").write_text(f"{json.dumps(line)}\n" * 1000)
    (texts / "9.jsonl").write_text(json.dumps({"text": "Ça va été. Où est-il ? " * 1000, "language": "fr"}))
    corpus = build(
        "build-corpus", tmp_path / "c", "--text", texts, "--task-bytes", 1 << 16, "--dedup", "none", "--max-repeated", 1
    )
    made = build("train-vocab", tmp_path / "v", corpus, "--sample-bytes", 1024, *OPTIONS)
    assert len(read_manifest(corpus)["shards"]) > 4
    assert re.fullmatch(r"kept: 9\d\.\d % .* less than 98 % \(others: fr \d\.\d %\)", read_manifest(made)["accents"])


# --- a vocabulary that exists ---


@pytest.fixture
def google(tmp_path: Path) -> Path:
    """A vocab.txt by itself, as Google's come: lower case, and a few pieces with accents."""
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.'"]
    pieces = [*SPECIAL, *letters, *(f"##{c}" for c in letters), "cafe", "café", "##é", "the"]
    path = tmp_path / "google" / "vocab.txt"
    path.parent.mkdir()
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return path


def test_of_a_bare_vocab_txt_accents_come_off_as_in_bert_and_that_is_said(
    run: Run, corpora: dict[str, Path], google: Path, tmp_path: Path
) -> None:
    arguments: list[Any] = ["make-pairs", corpora["english"], "--vocab", google, "--max-seq-length", 64, "--workers", 1]
    shown = run(*arguments, "--output", tmp_path / "off").stderr
    assert "no file says whether to strip accents: they are stripped, as in BERT, and 2 tokens with accents" in shown
    assert "(--no-strip-accents keeps them)" in shown
    assert read_any(tmp_path / "off")[1:3] == (True, True)
    shown = run(*arguments, "--no-strip-accents", "--output", tmp_path / "kept").stderr
    assert "tells of accents" not in shown
    assert read_any(tmp_path / "kept")[1:3] == (True, False)
    pieces = read_any(google).pieces
    for name, word in (("off", "cafe"), ("kept", "café")):
        assert pieces.index(word) in {id for row in read_rows(tmp_path / name) for id in row["input_ids"]}
    assert "accents" not in run(*arguments[:2], "--vocab", tmp_path / "off", "--output", tmp_path / "x", "--dry-run").stderr
    refused = run(*arguments[:2], "--vocab", tmp_path / "off", "--output", tmp_path / "x", "--no-strip-accents", code=2).stderr
    assert "--no-strip-accents: " in refused and "tokenizer_config.json" in refused


def test_much_unknown_is_warned_of(run: Run, sample_corpus: Path, google: Path, tmp_path: Path) -> None:
    arguments = ["train-vocab", sample_corpus, "--workers", 1, "--output"]
    shown = run(*arguments, tmp_path / "small", "--size", 200).stderr
    assert "warning: share of words that are [UNK]: " in shown and "Use a larger --size than 200" in shown
    shown = run(*arguments, tmp_path / "letters", "--size", 4000, "--alphabet", 100).stderr
    assert "Use a larger --alphabet than 100" in shown
    assert "warning" not in run(*arguments, tmp_path / "large", "--size", 8000).stderr
    shown = run("make-pairs", sample_corpus, "--vocab", google, "--workers", 1, "--output", tmp_path / "pairs").stderr
    assert "does not fit the text" in shown and "% [UNK]" in shown
