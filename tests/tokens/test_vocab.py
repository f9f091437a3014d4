"""Vocabularies: the same from run to run, BERT's ids, and read alike by every library."""

from __future__ import annotations

import doctest
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bertdata.codec import decode
from bertdata.config import VocabConfig
from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_records import Coverage
from bertdata.dataset.manifest_types import CorpusManifest, VocabManifest
from bertdata.errors import EmptyResultError, UsageError
from bertdata.reports import coverage
from bertdata.tokens import vocab
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL, Vocabulary

LAW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

SYLLABLES = ["ba", "ko", "ri", "ten", "sou", "mal", "ix", "quo", "ver", "la"]
CHINESE = "茶树原产于中国南部是一种常绿灌木叶子可以用来制作饮料"


def _words(count: int = 3000) -> Counter[str]:
    """Words of a made-up language, some accented, and Chinese characters, as `count_words` gives them."""
    chooser = random.Random(4)
    words: Counter[str] = Counter()
    for _ in range(count):
        words["".join(chooser.choices(SYLLABLES, k=chooser.randint(1, 4)))] += 1
    words.update({character: 2 + i for i, character in enumerate(CHINESE)})
    words.update({"été": 5, "naïve": 5, ".": 900, ",": 700, "rare": 1, "☃": 1})
    return words


CONFIG = VocabConfig(size=400)
CASED = VocabConfig(size=400, lowercase=False, strip_accents=False)

TRAIN = """
import json, random, sys
from bertdata.config import VocabConfig
from bertdata.tokens import vocab
words = list(json.load(sys.stdin).items())
random.Random(sys.argv[1]).shuffle(words)
pieces = vocab.train(dict(words), VocabConfig(size=400)).pieces
print(json.dumps(pieces))
"""


def test_doctests() -> None:
    assert doctest.testmod(vocab).failed == 0


@pytest.mark.long
def test_training_is_equal_in_every_process_and_order() -> None:
    """Many pairs of these words are equally frequent, so that any order that leaks in shows."""
    words = _words()
    found = set()
    for seed in ("0", "1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", TRAIN, seed],
            input=json.dumps(words),
            env={**os.environ, "PYTHONHASHSEED": seed, "TOKENIZERS_PARALLELISM": "true" if seed == "3" else "false"},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    assert found == {json.dumps(vocab.train(words, CONFIG).pieces)}


def test_special_tokens_stand_at_the_stated_ids() -> None:
    compact = vocab.train(_words(), CONFIG).pieces
    assert compact[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    layout = vocab.train(_words(), VocabConfig(size=2048, layout="bert")).pieces
    places = {
        name: layout.index(name)
        for name in ("[PAD]", "[unused0]", "[unused98]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused99]")
    }
    assert list(places.values()) == [0, 1, 99, 100, 101, 102, 103, 104]  # as in bert-base-uncased
    assert layout[998] == "[unused993]" and not layout[999].startswith("[")
    assert sum(piece.startswith("[unused") for piece in layout) == 994


@pytest.mark.parametrize("config", [CONFIG, CASED, VocabConfig(size=64), VocabConfig(size=400, alphabet=5)])
def test_a_vocabulary_has_the_size_asked_and_no_piece_twice(config: VocabConfig) -> None:
    pieces = vocab.train(_words(), config).pieces
    assert len(pieces) <= config.size and len(set(pieces)) == len(pieces)
    if config.alphabet > 5:
        assert len(pieces) == config.size


def test_the_alphabet_keeps_chinese_and_ends_with_the_rarest() -> None:
    words = _words()
    pieces = set(vocab.train(words, CONFIG).pieces)
    assert set(CHINESE) <= pieces
    small = vocab.train(words, VocabConfig(size=400, alphabet=20)).pieces
    letters = {piece.removeprefix("##") for piece in small if piece not in SPECIAL}
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    kept = {piece for piece in letters if len(piece) == 1}
    assert len(kept) == 20 and min(counts[c] for c in kept) >= max(counts[c] for c in counts.keys() - kept)


def test_characters_that_are_equally_frequent_are_kept_in_order() -> None:
    """Ten letters of one frequency, room for four: those of a hash map's order would differ from run to run."""
    pieces = vocab.train(dict.fromkeys("jihgfedcba", 3), VocabConfig(size=64, alphabet=4)).pieces
    assert pieces == [*SPECIAL, "a", "b", "c", "d"]


def test_training_on_nothing_says_so() -> None:
    with pytest.raises(EmptyResultError, match="no text to train on.*`sample_bytes`"):
        vocab.train({}, CONFIG)


def test_one_word_worked_by_hand() -> None:
    """abab x 9 with its letters as pieces: ab, then ##ab... the merges that make the whole word, all seen 9 times."""
    pieces = vocab.train({"abab": 9}, VocabConfig(size=64)).pieces
    assert pieces[:5] == list(SPECIAL)
    assert {"a", "b", "##a", "##b", "abab"} <= set(pieces)
    assert all(piece.removeprefix("##") in "abab" for piece in pieces[5:])
    assert vocab.train({"abab": 1}, VocabConfig(size=64)).pieces[5:] == ["##a", "##b", "a", "b"]  # under --min-frequency 2


def test_a_sample_is_a_share_of_documents_by_name() -> None:
    ids = [f"w:{i}" for i in range(20_000)]
    tenth, half = ({i for i in ids if vocab.is_sampled(1, i, share)} for share in (0.1, 0.5))
    assert len(tenth) == pytest.approx(2000, abs=200) and len(half) == pytest.approx(10_000, abs=400)
    assert tenth < half  # a larger sample keeps the smaller
    assert all(vocab.is_sampled(1, i, 1.0) for i in ids) and not any(vocab.is_sampled(1, i, 0.0) for i in ids)
    assert {i for i in ids if vocab.is_sampled(2, i, 0.1)} != tenth


def test_continues() -> None:
    pieces = [*SPECIAL, "a", "##a", "##", "#", "a##"]
    assert np.flatnonzero(Vocabulary(pieces, True, True).continues()).tolist() == [6]


# --- files ---


def test_a_directory_reads_back(tmp_path: Path) -> None:
    for config in (CONFIG, CASED):
        made = vocab.train(_words(), config)
        assert vocab.write(tmp_path, made) == ["vocab.txt", "tokenizer.json", "tokenizer_config.json"]
        assert read_any(tmp_path) == made
        assert read_any(tmp_path / "vocab.txt") == made
        first = [(tmp_path / name).read_bytes() for name in vocab.write(tmp_path, made)]
        assert first == [(tmp_path / name).read_bytes() for name in vocab.write(tmp_path, made)]


@pytest.fixture(scope="module", params=[CONFIG, CASED], ids=["uncased", "cased"])
def libraries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every way to turn text into ids."""
    root = tmp_path_factory.mktemp("vocabulary")
    vocabulary = vocab.train(_words(), request.param)
    vocab.write(root, vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(root / "home"))
        transformers = pytest.importorskip("transformers")
        fast = transformers.BertTokenizerFast.from_pretrained(str(root))
        auto = transformers.AutoTokenizer.from_pretrained(str(root))
    file = Tokenizer.from_file(str(root / "tokenizer.json"))
    own = vocabulary.tokenizer()
    return {
        "own": lambda text: own.encode(text).ids,
        "tokenizers": lambda text: file.encode(text).ids,
        "fast": lambda text: fast(text)["input_ids"],
        "auto": lambda text: auto(text)["input_ids"],
        "transformers": (fast, auto),
        "vocabulary": vocabulary,
    }


SAMPLE = st.text(max_size=40) | st.lists(
    st.sampled_from([*SYLLABLES, " ", "É", "e\u0301", "茶", "İ", "ǅ", ".", "##", "\u200b", "😀"])
).map("".join)


@LAW
@given(text=SAMPLE)
def test_every_library_gives_equal_ids(libraries: dict[str, Any], text: str) -> None:
    expected = libraries["own"](text)
    for name in ("tokenizers", "fast", "auto"):
        assert libraries[name](text) == expected, name


def test_ids_of_a_sentence(libraries: dict[str, Any]) -> None:
    pieces = libraries["vocabulary"].pieces
    ids = libraries["auto"]("ba, 茶树!")
    assert [pieces[i] for i in ids] == ["[CLS]", "ba", ",", "茶", "树", "[UNK]", "[SEP]"]
    for tokenizer in libraries["transformers"]:
        assert tokenizer.mask_token_id == pieces.index("[MASK]") and tokenizer.pad_token_id == pieces.index("[PAD]")
        assert len(tokenizer) == len(pieces)
        pair = tokenizer("ba", "ko")
        assert pair["token_type_ids"] == [0, 0, 0, 1, 1]
    assert libraries["own"]("[MASK] ba")[1] == pieces.index("[MASK]")  # written out it is the token, as in BERT's fill-mask


GOOGLE = [*SPECIAL, "the", "##s", "été", "茶", "ⅷ", "ß"]


def _txt(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "vocab.txt").write_bytes(content)
    return tmp_path / "vocab.txt"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_vocab_txt_as_editors_leave_it(tmp_path: Path, end: str, bom: bytes, last: bool) -> None:
    text = end.join(GOOGLE) + (end if last else "")
    assert read_any(_txt(tmp_path, bom + text.encode())).pieces == GOOGLE


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """bert-base-chinese has U+2028 as a piece of its own."""
    pieces = [*GOOGLE, "\u2028", "\u0085", "\x1c"]
    assert read_any(_txt(tmp_path, "\n".join(pieces).encode())).pieces == pieces


def test_case_is_guessed_from_the_words(tmp_path: Path) -> None:
    assert read_any(_txt(tmp_path, "\n".join(GOOGLE).encode()))[1:3] == (True, True)
    assert read_any(_txt(tmp_path, "\n".join([*GOOGLE, "The"]).encode()))[1:3] == (False, False)
    assert read_any(tmp_path / "vocab.txt", lowercase=True)[1:3] == (True, True)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
    assert read_any(tmp_path / "vocab.txt")[1:3] == (True, False)
    assert read_any(tmp_path)[1:3] == (True, False)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": null}')  # as Google's say
    assert read_any(tmp_path)[1:3] == read_any(tmp_path, lowercase=True)[1:3] == (True, True)
    with pytest.raises(UsageError, match="`lowercase=False`: .* was made with `lowercase=True`"):
        read_any(tmp_path, lowercase=False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("\n".join(["[PAD]", "[UNK]", "[CLS]", "a"]).encode(), r"vocab\.txt lacks \[SEP\], \[MASK\]"),
        ("\n".join([*GOOGLE, "the"]).encode(), "contains 'the' twice.*remove"),
        ("\n".join(GOOGLE).encode() + b"\n\xff\xfe", "cannot read the vocabulary"),
        (b"", "lacks"),
        (None, "cannot read the vocabulary.*train-vocab"),
    ],
)
def test_a_vocabulary_that_cannot_be_right_is_refused(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "vocab.txt"
    if content is not None:
        _txt(tmp_path, content)
    with pytest.raises(UsageError, match=problem):
        read_any(path)


def test_damaged_settings_are_refused(tmp_path: Path) -> None:
    _txt(tmp_path, "\n".join(GOOGLE).encode())
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(UsageError, match=r"tokenizer_config\.json"):
        read_any(tmp_path)


# --- coverage ---


def test_coverage_doctests() -> None:
    assert doctest.testmod(coverage).failed == 0


def test_coverage_is_that_of_the_text(sample_corpus: Path, sample_vocab: Path) -> None:
    """For each language of the sample: the library cuts the whole text, word by word, and the shares are the same."""
    found = manifest.read(sample_vocab, VocabManifest).coverage
    tokenizer = read_any(sample_vocab).tokenizer()
    texts: dict[str, list[str]] = {}
    for document in _documents(sample_corpus):
        texts.setdefault(document["language"], []).extend(document["sentences"])
    assert found.keys() == texts.keys() and len(texts) > 1
    for language, sentences in texts.items():
        normal = tokenizer.normalizer.normalize_str("\n".join(sentences))
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        cut = {word: [piece.value for piece in tokenizer.model.tokenize(word)] for word in words}
        own = found[language]
        assert own.words == len(words)
        assert own.unknown_share == round(sum(cut[word] == ["[UNK]"] for word in words) / len(words), 6)
        assert own.split_share == round(sum(len(cut[word]) > 1 for word in words) / len(words), 6)
        assert own.pieces_per_word == round(sum(len(cut[word]) for word in words) / len(words), 4)
        longest = sorted((word for word in cut if len(cut[word]) > 1), key=lambda word: (-len(word), word))[:10]
        assert list(own.longest_split.items()) == [(word, " ".join(cut[word])) for word in longest]


def _documents(corpus: Path) -> list[dict[str, Any]]:
    found = manifest.read(corpus, CorpusManifest)
    batches = [b for s in found.shards for b in shards.read_batches(corpus / s.name)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_coverage_of_files_adds_up() -> None:
    """Words in two files are counted once for each, and named once."""
    whole, halves = coverage.Coverage(), coverage.Coverage()
    words, pieces = ["tea", "teas", "teasing", "q"], np.array([1, 2, 3, 1])
    unknown = np.array([False, False, False, True])
    whole.add(words, np.array([6, 4, 2, 8]), pieces, unknown)
    for _ in range(2):
        halves.add(words, np.array([3, 2, 1, 4]), pieces, unknown)
    assert whole.result(str.upper) == halves.result(str.upper)
    assert list(whole.result(str.upper).longest_split.items()) == [("teasing", "TEASING"), ("teas", "TEAS")]


def test_the_table_shows_a_line_for_each_language() -> None:
    own = {"unknown_share": 0.0, "split_share": 0.5, "pieces_per_word": 1.5, "longest_split": {}}
    many = {f"l{i:02}": {**own, "words": i} for i in range(25)} | {"": {**own, "words": 1000}}
    lines = coverage.table(decode(many, dict[str, Coverage])).splitlines()
    assert len(lines) == 22 and lines[1].split()[:2] == ["unknown", "1,000"] and lines[2].split()[0] == "l24"
    assert lines[-1].strip() == "and 6 more languages, in manifest.json"


def test_special_tokens_are_looked_for_once() -> None:
    """Reports ask for them at each piece: 30,000 pieces, each looked through for each, took two minutes."""
    made = Vocabulary([*SPECIAL, "tea", "[unused0]"], lowercase=True, strip_accents=True)
    assert made.special is made.special
    assert made.special.others == (6,) and made._asdict()["form"] == ""
