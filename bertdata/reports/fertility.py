"""Compare vocabularies on a corpus: tokens per word, bytes per token, unknown tokens and split words.

    vocabulary        language      words   tokens/word  bytes/token   [UNK]   split
    bert-base-cased   en        1,204,331          1.21         4.61  0.00 %  12.4 %
    my-vocab          en        1,204,331          1.16         4.80  0.00 %  10.1 %

Fertility, the number of tokens per word, decides how much text fits into a row. A word is text between spaces, without the
punctuation at its ends. In languages without spaces, such as Chinese, a word is one character, and no word counts as split.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import manifest, shards
from ..dataset.manifest import steady
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError
from ..pieces import shown
from ..storage.files import to_path
from ..storage.storage import storage_errors
from ..tokens.read import read_any
from ..tokens.vocab import Vocabulary
from .vocabulary_warnings import has_spaces

__all__ = ["Fertility", "compare_vocabularies"]

_MAX_SAMPLE_BYTES = 32 << 20  # text that is read in full from the corpus; of a larger corpus, every n-th document
_MAX_WORDS = 50_000  # distinct words per group that are looked up, the most frequent ones
_MAX_SPLIT_WORDS = 20  # split words per group
_WORD = re.compile(r"\w.*\w|\w")  # from the first letter or digit to the last
_WORD_BEFORE = "a"  # a word before each word: byte-level tokens of a word at the start of a text differ


@dataclass
class Fertility:
    """How a vocabulary encodes the documents of one source and language in a sample of a corpus."""

    vocabulary: str
    source: str
    language: str
    documents: int = 0
    words: int = 0
    bytes: int = 0
    tokens: int = 0
    unknown: int = 0  # tokens that are [UNK]
    split: int = 0  # words of more than one token
    split_words: list[tuple[str, int, str]] = field(default_factory=list)  # word, occurrences, its tokens; the costliest first

    @property
    def tokens_per_word(self) -> float:
        """The mean number of tokens per word."""
        return self.tokens / max(1, self.words)

    @property
    def bytes_per_token(self) -> float:
        """The mean number of bytes of UTF-8 per token."""
        return self.bytes / max(1, self.tokens)

    @property
    def unknown_share(self) -> float:
        """The share of tokens that are [UNK]."""
        return self.unknown / max(1, self.tokens)

    @property
    def split_share(self) -> float:
        """The share of words that are more than one token."""
        return self.split / max(1, self.words)


@storage_errors()
def compare_vocabularies(corpus: str | Path, vocabs: list[str | Path]) -> list[Fertility]:
    """Encode a sample of a corpus with vocabularies, and count tokens per word, bytes per token, unknown tokens and split words.

    Args:
        corpus: Output of `build_corpus`. At most 32 MB of its text are read, from documents evenly spread over it.
        vocabs: Vocabularies, as in `make_pairs`.

    Returns:
        The figures of each vocabulary for each source and language, the one with most words first.

    Raises:
        UsageError: `corpus` is not a corpus, or a vocabulary is invalid.
        NoInputError, VerificationError: The corpus is missing or damaged.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus, train_vocab
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> vocab = train_vocab(corpus.path, output=here / "vocab", size=2000, workers=1)
        >>> english = compare_vocabularies(corpus.path, [vocab.path])[0]
        >>> english.language, english.tokens_per_word > 1
        ('en', True)
    """
    path = to_path(str(corpus))
    with steady(path):
        contents = manifest.read(path)
        if not isinstance(contents, CorpusManifest):
            raise UsageError(f"{path} contains {contents.kind}. Pass a corpus, to encode its text with `vocab`", field="vocab")
        manifest.check_files(path, contents.listed)
        return _measure(path, contents, {str(vocab): to_path(str(vocab)) for vocab in vocabs})


def _measure(corpus: Path, manifest: CorpusManifest, vocabularies: Mapping[str, Path]) -> list[Fertility]:
    """Encode a sample of a corpus with each vocabulary; results are by language and source, the one with most words first."""
    groups: dict[tuple[str, str], list[pa.RecordBatch]] = defaultdict(list)
    for batch in _sample(corpus, manifest):
        keys = list(zip(batch.column("source").to_pylist(), batch.column("language").to_pylist(), strict=True))
        for key in sorted(set(keys)):
            groups[key].append(batch.filter(pa.array([each == key for each in keys])))
    found = []
    for (source, language), batches in groups.items():
        table = pa.Table.from_batches(batches).combine_chunks()
        sentences, starts = (table.column(name).combine_chunks() for name in ("sentences", "paragraph_starts"))
        words = _words(sentences, language)
        size = int(pc.sum(pc.binary_length(sentences.flatten())).as_py() or 0)
        for name, path in vocabularies.items():
            figures = Fertility(name, source, language, table.num_rows, words.total(), size)
            _encode(figures, read_any(path), sentences, starts, words if has_spaces(language) else Counter())
            found.append(figures)
    return sorted(found, key=lambda each: (-each.words, each.source, each.language))


def _sample(corpus: Path, manifest: CorpusManifest) -> Iterator[pa.RecordBatch]:
    """Yield every n-th document, so that the text is at most `_MAX_SAMPLE_BYTES`."""
    stride, number = -(-sum(source.text_bytes for source in manifest.sources.values()) // _MAX_SAMPLE_BYTES) or 1, 0
    columns = ["source", "language", "sentences", "paragraph_starts"]
    for shard in manifest.shards:
        for batch in shards.read_batches(corpus / shard.name):
            chosen = np.arange(-number % stride, batch.num_rows, stride)
            number += batch.num_rows
            yield batch.select(columns).take(pa.array(chosen))


def _words(sentences: pa.ListArray, language: str) -> Counter[str]:
    if has_spaces(language):
        parts = (_WORD.search(part) for sentence in sentences.flatten().to_pylist() for part in sentence.split())
        return Counter(match[0] for match in parts if match)
    return Counter(character for sentence in sentences.flatten().to_pylist() for character in sentence if not character.isspace())


def _encode(
    figures: Fertility, vocabulary: Vocabulary, sentences: pa.ListArray, starts: pa.ListArray, words: Counter[str]
) -> None:
    """Count the tokens of documents, and of each distinct word."""
    encoder = vocabulary.document_encoder()
    ids, _ = encoder.encode_documents(sentences, starts)
    figures.tokens, figures.unknown = len(ids), int((ids == vocabulary.special.unk).sum())
    common = words.most_common(_MAX_WORDS)
    texts = [[_WORD_BEFORE], *([f"{_WORD_BEFORE} {word}"] for word, _ in common)]
    ids, ends = encoder.encode_documents(pa.array(texts, pa.list_(pa.string())), pa.array([[0]] * len(texts), starts.type))
    lengths = np.diff(ends, prepend=0)
    pieces = lengths[1:] - lengths[0]
    counts = np.array([count for _, count in common], np.int64)
    figures.split = int(counts[pieces > 1].sum())
    mark = vocabulary.special.mark
    for index in np.argsort(-(pieces - 1) * counts, kind="stable")[:_MAX_SPLIT_WORDS].tolist():
        if pieces[index] > 1:
            tokens = ids[ends[index + 1] - pieces[index] : ends[index + 1]]
            figures.split_words.append((*common[index], _shown(vocabulary.pieces, tokens.tolist(), mark)))


def _shown(pieces: Sequence[str], ids: Sequence[int], mark: str) -> str:
    return " ".join(shown(pieces[i], mark) for i in ids)
