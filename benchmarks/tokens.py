"""Compare the speed and the ids of encoding with `tokenizers`, nanotoken and gigatoken, on new text and on text seen before.

    python benchmarks/tokens.py                 documents of ../shared/data and ../shared/extraction, by language
    python benchmarks/tokens.py --corpus DIR    a corpus of build-corpus
    python benchmarks/tokens.py --language en   one language alone
    python benchmarks/tokens.py --vocab         training of a vocabulary as well
    python benchmarks/tokens.py --characters    every character of Unicode as well

Every sentence is used once; BPE and Unigram encode them as documents of 40. The first 2 MB of a language, or a third of less than
6 MB, are encoded before the clock starts. All encoders take turns, slice by slice, so a busy machine slows down all of them.
Speeds are MB per CPU second on one core. For `tokenizers` only the call of `encode_batch_fast` is timed, for nanotoken and
gigatoken (column "peer") the encoding of a list of UTF-8 texts. bertdata's time includes its check of 1 % of the sentences. The
exit code is 1 if ids differ, or if English is slower than twice `tokenizers`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from ratios import ratio
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from bertdata.config import VocabConfig
from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.exports.plain_text import text_of
from bertdata.records import Document
from bertdata.tokens import encoder as tokens
from bertdata.tokens import engines, train, vocab

SIZES = {"tiny": ["--corpus {corpus}"], "small": ["--corpus {corpus}"], "full": ["--corpus {corpus}"]}
SHARED = Path(__file__).resolve().parents[2] / "shared"
FIRST = 2_000_000  # bytes encoded before the clock starts
SLICE = 1_000_000  # bytes per turn
CALL = 1000  # sentences per call of the library
DOCUMENT, PARAGRAPH = 40, 4  # sentences
SMALL = 50_000  # bytes; languages with less text are measured together
RATIO = 2.0  # minimum speedup over `tokenizers` for English on new text
KINDS: dict[str, dict[str, Any]] = {
    "uncased": {"lowercase": True, "strip_accents": True},
    "cased": {"lowercase": False, "strip_accents": False},
    "bpe": {"model": "bpe"},
    "unigram": {"model": "unigram"},
}
PEERS = {"uncased": "nanotoken", "bpe": "gigatoken"}
RATIOS = {"uncased": "WordPiece", "bpe": "byte-level BPE", "unigram": "Unigram"}  # rows in the table of all benchmarks


class Speed(NamedTuple):
    """Results of one language: megabytes timed, MB/s of each library (0 without a peer), and whether all ids agree."""

    megabytes: float
    library: float
    unseen: float
    seen: float
    peer_unseen: float
    peer_seen: float
    identical: bool


def main() -> int:
    """Measure and print the tables. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="corpus to take text from  [default: built from ../shared/data]")
    parser.add_argument("--language", help="measure this one alone")
    parser.add_argument("--size", type=int, default=30522, help="pieces of a vocabulary  [default: 30522]")
    parser.add_argument("--vocab", action="store_true", help="measure training as well")
    parser.add_argument("--characters", action="store_true", help="compare every character of Unicode as well")
    options = parser.parse_args()
    texts = _by_size(_read(options.corpus) if options.corpus else _shared())
    texts = {language: text for language, text in texts.items() if options.language in (None, language)}
    if not texts:
        sys.exit("tokens.py: found no text: give a corpus with --corpus")
    good = True
    print(f"{'':18}{'MB':>7}{'library':>9}{'unseen':>8}{'ratio':>7}{'seen':>8}{'ratio':>7}{'peer':>8}{'seen':>8}  {'identical'}")
    for language, text in texts.items():
        for kind, config in KINDS.items():
            speed = measure(text, VocabConfig(size=options.size, **config))
            print(
                f"{language:10}{kind:8}{speed.megabytes:7.1f}{speed.library:9.2f}{speed.unseen:8.2f}"
                f"{speed.unseen / speed.library:7.2f}{speed.seen:8.2f}{speed.seen / speed.library:7.2f}"
                f"{speed.peer_unseen:8.2f}{speed.peer_seen:8.2f}  {_yes(speed.identical)}",
                flush=True,
            )
            if language == "en" and kind in RATIOS:
                ratio(f"English to ids, {RATIOS[kind]}, new text, one core", speed.unseen, "MB/s", "tokenizers", speed.library)
                ratio(f"English to ids, {RATIOS[kind]}, seen words, one core", speed.seen, "MB/s", "tokenizers", speed.library)
                if speed.peer_unseen:
                    ratio(
                        f"English to ids, {RATIOS[kind]}, new text, one core",
                        speed.unseen,
                        "MB/s",
                        PEERS[kind],
                        speed.peer_unseen,
                    )
            good &= speed.identical and (speed.unseen >= RATIO * speed.library or language != "en")
    if options.characters:
        good &= _characters()
    if options.vocab:
        _training(texts, options.size)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


# --- text ---


def _read(corpus: Path) -> dict[str, list[str]]:
    """Read a corpus' sentences by language."""
    found = manifest.read(corpus, CorpusManifest)
    texts: dict[str, list[str]] = {}
    for shard in found.shards:
        for batch in shards.read_batches(corpus / shard.name):
            columns = (batch.column(name).to_pylist() for name in ("language", "sentences"))
            for language, sentences in zip(*columns, strict=True):
                texts.setdefault(language, []).extend(sentences)
    return texts


def _shared() -> dict[str, list[str]]:
    """Make a corpus of the dumps and books, and add the pages and treebanks of other languages."""
    dumps = [str(path) for path in sorted((SHARED / "data" / "wiki").glob("*.xml*")) if "broken" not in path.name]
    if not dumps:
        return {}
    wikipedia = [argument for path in dumps for argument in ("--wikipedia", path)]
    with tempfile.TemporaryDirectory(prefix="bertdata-tokens-") as work:
        output = f"{work}/corpus"
        command = [sys.executable, "-m", "bertdata", "build-corpus", *wikipedia, "--books", str(SHARED / "data" / "books")]
        subprocess.run([*command, "--output", output, "--workers", "1", "--max-rejects", "1"], check=True, capture_output=True)
        texts = _read(Path(output))
    for name, key in (("dev_pages", "paragraphs"), ("dev_sentences", "sentences")):
        with lzma.open(SHARED / "extraction" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                texts.setdefault(row["language"], []).extend(row[key])
    return texts


def _by_size(texts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Use every sentence once, and combine languages with little text."""
    found: dict[str, list[str]] = {}
    sizes = {language: _bytes(text) for language, text in texts.items()}
    for language in sorted(texts, key=lambda language: -sizes[language]):
        found.setdefault(language if sizes[language] >= SMALL else "others", []).extend(texts[language])
    return {language: list(dict.fromkeys(text)) for language, text in found.items()}


def _bytes(text: Sequence[str]) -> int:
    return sum(len(sentence.encode()) for sentence in text)


def _slices(text: Sequence[str]) -> Iterator[list[str]]:
    """Cut text into slices of `SLICE` bytes. The first has `FIRST` bytes or a third of all."""
    sizes = np.cumsum([len(sentence.encode()) for sentence in text])
    first = min(FIRST, int(sizes[-1]) // 3)
    cuts = np.searchsorted(sizes, [first, *range(first + SLICE, int(sizes[-1]), SLICE)]) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(text)], strict=True):
        yield list(text[start:end])


# --- measures ---


def measure(text: Sequence[str], config: VocabConfig) -> Speed:
    """Train a vocabulary on the text, and tokenize the text with both libraries."""
    rivals: Any = Sentences(text, config) if config.model == "wordpiece" else Documents(text, config)
    first, *rest = map(rivals.given, _slices(text))
    identical = _agree(rivals.ours(first[0]), rivals.library(first[1]))
    spent = {"library": 0.0, "unseen": 0.0, "seen": 0.0, "peer_unseen": 0.0, "peer_seen": 0.0}
    peer = rivals.peer
    for own, other in rest:
        theirs = _timed(spent, "library", rivals.library, other)
        ours = _timed(spent, "unseen", rivals.ours, own)
        identical &= _agree(ours, theirs)
        if peer:
            identical &= np.array_equal(_timed(spent, "peer_unseen", peer, [text.encode() for text in other])[0], ours[0])
    for own, other in rest:
        _timed(spent, "seen", rivals.ours, own)
        if peer:
            _timed(spent, "peer_seen", peer, [text.encode() for text in other])
    megabytes = sum(map(_bytes, [own for _, own in rest])) / 1e6
    speeds = {name: megabytes / seconds if seconds else 0.0 for name, seconds in spent.items()}
    return Speed(megabytes, identical=identical, **speeds)


class Sentences:
    """WordPiece: both libraries get sentences."""

    def __init__(self, text: Sequence[str], config: VocabConfig) -> None:
        vocabulary = vocab.train(_count_words(text, config), config)
        self.ours = tokens.Encoder(vocabulary.tokenizer(), vocabulary.pieces).encode
        self.peer = next(iter(engines.same_engines(vocabulary.tokenizer(), vocabulary.pieces, engines.Nanotoken)), None)
        self.library = Library(vocabulary)

    def given(self, text: list[str]) -> tuple[list[str], list[str]]:
        """Return the input of each library."""
        return text, text


class Documents:
    """Other models: both get documents, ours as columns of a corpus, the library as strings."""

    def __init__(self, text: Sequence[str], config: VocabConfig) -> None:
        vocabulary = train.train(train.count_words(text, train.blank(config)), config)
        self._encoder, self.library = vocabulary.document_encoder(), Library(vocabulary)
        self.peer = next(iter(engines.same_engines(vocabulary.tokenizer(), vocabulary.pieces, engines.Gigatoken)), None)

    def given(self, text: list[str]) -> tuple[tuple[pa.ListArray, pa.ListArray], list[str]]:
        """Return the input of each library."""
        own = [text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)]
        starts = [list(range(0, len(sentences), PARAGRAPH)) for sentences in own]
        told = [text_of(Document("", "", "", "", "", *columns)) for columns in zip(own, starts, strict=True)]
        return (pa.array(own), pa.array(starts, pa.list_(pa.uint32()))), told

    def ours(self, columns: tuple[pa.ListArray, pa.ListArray]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return all ids, and the end of each document."""
        ids, ends = self._encoder.encode_documents(*columns)
        return ids, ends[columns[0].offsets.to_numpy()[1:] - 1]


class Library:
    """`tokenizers` alone."""

    def __init__(self, vocabulary: vocab.Vocabulary) -> None:
        self._tokenizer = vocabulary.tokenizer()
        self._tokenizer.encode_special_tokens = True

    def __call__(self, texts: list[str]) -> list[Any]:
        found = []
        for start in range(0, len(texts), CALL):
            found += self._tokenizer.encode_batch_fast(texts[start : start + CALL], add_special_tokens=False)
        return found


def _count_words(text: Sequence[str], config: VocabConfig) -> Counter[str]:
    return vocab.parts_to_words(vocab.count_parts(text), _blank(config).tokenizer())


def _blank(config: VocabConfig) -> vocab.Vocabulary:
    return vocab.Vocabulary(list(vocab.SPECIAL), bool(config.lowercase), bool(config.strip_accents))


def _timed(spent: dict[str, float], name: str, work: Callable[..., Any], *arguments: Any) -> Any:
    started = time.process_time()
    result = work(*arguments)
    spent[name] += time.process_time() - started
    return result


def _agree(ours: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]], theirs: list[Any]) -> bool:
    ids = [encoding.ids for encoding in theirs]
    flat = [each for own in ids for each in own]
    return bool(np.array_equal(ours[0], flat) and np.array_equal(ours[1], np.cumsum([len(own) for own in ids])))


def _characters() -> bool:
    """Compare every character alone, between letters, and before a letter and an accent."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    letters = [chr(code) for code in range(0x21, 0x3000) if chr(code).isprintable()]
    pieces = [*vocab.SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    good = True
    for lowercase, strip_accents in ((True, True), (True, False), (False, True), (False, False)):
        vocabulary = vocab.Vocabulary(pieces, lowercase, strip_accents)
        encoder, library = tokens.Encoder(vocabulary.tokenizer(), pieces), Library(vocabulary)
        same = True
        for start in range(0, len(codes), 20_000):
            characters = map(chr, codes[start : start + 20_000])
            text = [f"{character} a{character}b \u201c{character}e\u0301" for character in characters]
            same &= _agree(encoder.encode(text), library(text))
        how = f"{'lower case' if lowercase else 'cased'}, accents {'off' if strip_accents else 'kept'}"
        print(f"every character, {how}: {len(codes):,}, identical: {_yes(same)}", flush=True)
        good &= same
    return good


def _training(texts: dict[str, list[str]], size: int) -> None:
    """Count words and train, compared with the library's trainer on the same text."""
    print(f"\n{'training':18}{'MB':>7}{'library s':>11}{'ours s':>8}{'count':>8}{'train':>8}{'ratio':>7}")
    for language, text in texts.items():
        config, spent = VocabConfig(size=size), {"library": 0.0, "count": 0.0, "train": 0.0}
        words = _timed(spent, "count", _count_words, text, config)
        _timed(spent, "train", vocab.train, words, config)
        tokenizer = _blank(config).tokenizer()
        tokenizer.model = WordPiece(unk_token="[UNK]")
        trainer = WordPieceTrainer(
            vocab_size=size, min_frequency=config.min_frequency, special_tokens=list(vocab.SPECIAL), show_progress=False
        )
        _timed(spent, "library", tokenizer.train_from_iterator, text, trainer)
        ours = spent["count"] + spent["train"]
        print(
            f"{language:18}{_bytes(text) / 1e6:7.1f}{spent['library']:11.2f}{ours:8.2f}{spent['count']:8.2f}{spent['train']:8.2f}"
            f"{spent['library'] / ours:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
