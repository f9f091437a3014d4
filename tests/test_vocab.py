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

from bertdata import vocab
from bertdata.config import VocabConfig
from bertdata.errors import EmptyResultError, UsageError
from bertdata.vocab import SPECIAL, Vocabulary

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
from bertdata import vocab
from bertdata.config import VocabConfig
words = list(json.load(sys.stdin).items())
random.Random(sys.argv[1]).shuffle(words)
pieces = vocab.train(dict(words), VocabConfig(size=400)).pieces
print(json.dumps(pieces))
"""


def test_doctests() -> None:
    assert doctest.testmod(vocab).failed == 0


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
    with pytest.raises(EmptyResultError, match="no text to train on.*--sample-bytes"):
        vocab.train({}, CONFIG)


def test_one_word_worked_by_hand() -> None:
    """abab x 9 with its letters as pieces: ab, then ##ab... the merges that make the whole word, all seen 9 times."""
    pieces = vocab.train({"abab": 9}, VocabConfig(size=64)).pieces
    assert pieces[:5] == list(SPECIAL)
    assert {"a", "b", "##a", "##b", "abab"} <= set(pieces)
    assert all(piece.removeprefix("##") in "abab" for piece in pieces[5:])
    assert vocab.train({"abab": 1}, VocabConfig(size=64)).pieces[5:] == ["##a", "##b", "a", "b"]  # under --min-frequency 2


@LAW
@given(st.lists(st.text(max_size=30), max_size=6), st.integers(0, 6), st.booleans())
def test_counts_of_parts_add_up(sentences: list[str], cut: int, lowercase: bool) -> None:
    config = VocabConfig(lowercase=lowercase, strip_accents=lowercase)
    parts = vocab.count_words(sentences[:cut], config) + vocab.count_words(sentences[cut:], config)
    assert parts == vocab.count_words(sentences, config)


@LAW
@given(st.text(max_size=40), st.booleans())
def test_words_are_those_of_the_pre_tokenizer(text: str, lowercase: bool) -> None:
    config = VocabConfig(lowercase=lowercase, strip_accents=lowercase)
    tokenizer = Vocabulary(list(SPECIAL), lowercase, lowercase).tokenizer()
    normal = tokenizer.normalizer.normalize_str(text)
    expected = Counter(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    assert vocab.count_words([text], config) == expected


def test_words_as_bert_cuts_them() -> None:
    words = vocab.count_words(["Été, l'Été! 茶树\u200b\x00 a\tb"], VocabConfig())
    assert words == Counter({"ete": 2, ",": 1, "l": 1, "'": 1, "!": 1, "茶": 1, "树": 1, "a": 1, "b": 1})
    cased = vocab.count_words(["Été"], VocabConfig(lowercase=False, strip_accents=False))
    assert cased == Counter({"Été": 1})


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
        assert vocab.read(tmp_path) == made
        assert vocab.read(tmp_path / "vocab.txt") == made
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
    assert vocab.read(_txt(tmp_path, bom + text.encode())).pieces == GOOGLE


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """bert-base-chinese has U+2028 as a piece of its own."""
    pieces = [*GOOGLE, "\u2028", "\u0085", "\x1c"]
    assert vocab.read(_txt(tmp_path, "\n".join(pieces).encode())).pieces == pieces


def test_case_is_guessed_from_the_words(tmp_path: Path) -> None:
    assert vocab.read(_txt(tmp_path, "\n".join(GOOGLE).encode()))[1:] == (True, True)
    assert vocab.read(_txt(tmp_path, "\n".join([*GOOGLE, "The"]).encode()))[1:] == (False, False)
    assert vocab.read(tmp_path / "vocab.txt", lowercase=True)[1:] == (True, True)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
    assert vocab.read(tmp_path / "vocab.txt")[1:] == (True, False)
    assert vocab.read(tmp_path)[1:] == (True, False)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": null}')  # as Google's say
    assert vocab.read(tmp_path)[1:] == (True, True)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("\n".join(["[PAD]", "[UNK]", "[CLS]", "a"]).encode(), r"vocab\.txt lacks \[SEP\], \[MASK\]"),
        ("\n".join([*GOOGLE, "the"]).encode(), "holds 'the' twice.*remove"),
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
        vocab.read(path)


def test_damaged_settings_are_refused(tmp_path: Path) -> None:
    _txt(tmp_path, "\n".join(GOOGLE).encode())
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(UsageError, match=r"tokenizer_config\.json"):
        vocab.read(tmp_path)
