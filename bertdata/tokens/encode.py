"""Encode sentences and documents with the fastest library that returns the ids of `tokenizers`.

    WordPiece        nanotoken
    byte-level BPE   gigatoken, if it is installed
    anything else    `tokenizers`

`choose` compares a library with `tokenizers` once, when a run is planned. The job stores its name, so all workers use the same.

The text of a document is what `export --to jsonl` writes: sentences with a space between them, paragraphs with an empty line. A
token belongs to the sentence that its last character is in, so " Two" begins the second sentence, and the line feeds that end a
paragraph belong to the sentence before them:

    One. Two.\\n\\nThree.        One .  |  ĠTwo . Ċ Ċ  |  Three .

    tokens     One   .    ĠTwo   .    Ċ    Ċ    Three  .
    ends       3     4    8      9    10   11   16     17        sentence 1 ends at byte 4, sentence 2 at 11
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..pieces import bare
from ..records import PARAGRAPH, UNSPACED
from .libraries import LIBRARIES, Ints, failures_as_exceptions
from .vocab import Vocabulary

Ids = tuple[npt.NDArray[Any], Ints]
Batch = tuple[pa.ListArray, pa.ListArray]  # the sentences of documents, and the numbers of those that begin a paragraph

CHECKED_BYTES = 1 << 18  # of a corpus that `choose` encodes twice
WORDS_OF_TEXT = 50  # tokens of the vocabulary that are checked in one text
NOTHING, SPACE, BREAK = range(3)  # separator before a sentence
# Strings that tokenizer libraries are likely to disagree about
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\u00a0\u1680\u2009\u2028\u2029\u202f\u205f\u3000"
_CONTROLS = "\x00\x01\x7f\x9f\u00ad\u180e\u200b\u200d\u200e\u2060\ufeff\ufffd\ue000\U000e0001"
_TEXTS = """\
e\u0301 e\u0323\u0301 \u0301a a\u0338\u034f\u20dd | é É ß ẞ ǅ İ ı ſ Σ ς ΐ ﬁ Å ﷺ ½ ² ㎏ ™ | 각 ᄀ ㄱ 한국어 \u1112\u1161\u11ab
豈㐀\U00020000\U0002a700 々〇ー ｶﾞ ＡＢ１。，、 | 他在北京读书。 他在清華大學讀書！ 東京タワーで、ひらがな
กาแฟเย็น ລາວ ភាសា မြန်မာ བོད | हिन्दी में क्षत्रिय। বাংলা தமிழ் മലയാളം | الْعَرَبِيَّة فارسی שָׁלוֹם יִדִּישׁ
Он не спал; Ґ Ӯ Ћ Ελληνικά ΑΒΓ ԱԲԳ ქართული አማርኛ
👩\u200d👩\u200d👧 🇫🇷🇩🇪 ☕\ufe0f 👍🏽 😀😀 | don't I'll WE'VE 'tis o'clock ’s “quoted” «q» ‘x’ … — – ‐ · •
_snake_case --x-- #a @b $5.00 50% | 1234567890 1,234.5 ²³ ١٢٣ | AbCdEf ALLCAPS camelCase iPhone McX
▁ Ġ ## <s> </s> <0x0A> ||| | [CLS] [SEP] [MASK] [UNK] [PAD] [unused0] <unk> <mask> <pad>
a.b,c;d:e!f?g(h)i[j]k{l}m<n>o/p\\q|r | http://example.org/a?b=c&d=e#f mail@example.org"""

HARD_STRINGS = (
    *("", "  two  spaces   three ", "\n\nLine\n\n\nbreaks \n x\r\n", " leading and trailing ", "\t\ttabs\t"),
    *(f"tea{space}time" for space in _SPACES),
    *(f"te{control}a {control} x" for control in _CONTROLS),
    *_TEXTS.replace("\n", " | ").split(" | "),
    "x" * 101 + " " + "y" * 100 + " " + "z" * 5000,
)


class Encoder:
    """Encode text with a vocabulary and its library.

    >>> from bertdata.tokens.vocab import SPECIAL, from_tokens
    >>> encoder = Encoder(from_tokens([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True))
    >>> ids, ends = encoder.encode(["Teas tea", "TEA!"])
    >>> ids.tolist(), ends.tolist()
    ([5, 6, 5, 5, 7], [3, 5])
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.dtype = np.dtype(np.uint16 if len(vocabulary.pieces) <= 1 << 16 else np.uint32)
        self._library = LIBRARIES[vocabulary.library](vocabulary)

    def encode(self, sentences: Sequence[str] | pa.Array) -> Ids:
        """Return the ids of all sentences, each encoded alone, end to end [T], and the end of each sentence in them [S]."""
        texts = sentences if isinstance(sentences, pa.Array) else pa.array(sentences, pa.large_string())
        ids, ends, _ = self._library(texts.cast(pa.large_binary()).to_pylist())
        return ids.astype(self.dtype), ends

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray) -> Ids:
        """Return the ids of all documents end to end [T], and the end of each sentence in them [S], of the parts of a `Batch`."""
        if self.vocabulary.splits_sentences:
            return self.encode(sentences.flatten())
        data, edges, first = _text(sentences, paragraphs)
        ids, _, stops = self._library([data[start:end] for start, end in pairwise(edges[first].tolist())])
        return ids.astype(self.dtype), np.searchsorted(stops, edges[1:].astype(stops.dtype), "right")


def choose(vocabulary: Vocabulary, corpus: Iterable[Batch] = ()) -> Vocabulary:
    """Return a vocabulary with the fastest library whose ids are those of `tokenizers`, also for the beginning of a corpus.

    If one had to be refused, a note of the vocabulary has the text.
    """
    exact = replace(vocabulary, library="tokenizers")
    for name in ("nanotoken", "gigatoken"):
        fast = replace(vocabulary, library=name)
        try:
            with failures_as_exceptions():
                encoder = Encoder(fast)
        except Exception:  # not installed, or not for this kind of vocabulary
            continue
        different = _difference(encoder, Encoder(exact), _checks(vocabulary, corpus))
        if different is None:
            return fast
        why = f"because {name} returns other ids for {different[:200]!r}. Please report it to {name}"
        return replace(exact, notes=(*exact.notes, f"`tokenizers` encodes the text, {why}"))
    return exact


def _checks(vocabulary: Vocabulary, corpus: Iterable[Batch]) -> Iterator[Batch]:
    """Yield what libraries are compared on: hard strings, every token, and the first `CHECKED_BYTES` of text."""
    words, documents = [bare(piece, vocabulary.special.mark) for piece in vocabulary.pieces], list(_first(corpus))
    if vocabulary.splits_sentences:  # the ids of a word are the same in any text, so each is compared once
        words += dict.fromkeys(word for texts, _ in documents for text in texts.flatten().to_pylist() for word in text.split(" "))
        documents = []
    texts = [*HARD_STRINGS, *(" ".join(words[start : start + WORDS_OF_TEXT]) for start in range(0, len(words), WORDS_OF_TEXT))]
    utf8 = [text.encode("utf-8", "replace").decode() for text in texts]
    yield pa.array([[text] for text in utf8]), pa.array([[0]] * len(utf8))
    yield from documents


def _first(corpus: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the documents with the first `CHECKED_BYTES` of text, as documents are of one size on average."""
    left = CHECKED_BYTES
    for sentences, paragraphs in corpus:
        count = -(-len(sentences) * left // max(1, sentences.nbytes))
        yield sentences.slice(0, count), paragraphs.slice(0, count)
        if (left := left - sentences.nbytes) <= 0:
            return


def _difference(fast: Encoder, exact: Encoder, checks: Iterable[Batch]) -> str | None:
    """Return a document of which two encoders make different ids, or of which the fast one fails, or None."""

    def same(documents: Batch) -> bool:
        try:
            with failures_as_exceptions():
                return all(map(np.array_equal, fast.encode_documents(*documents), exact.encode_documents(*documents)))
        except Exception:  # of the fast library
            return False

    for batch in checks:
        if not same(batch):
            each = ((batch[0].slice(at, 1), batch[1].slice(at, 1)) for at in range(len(batch[0])))
            return next((" ".join(sentences[0].as_py()) for sentences, starts in each if not same((sentences, starts))), "")
    return None


def _text(sentences: pa.ListArray, paragraphs: pa.ListArray) -> tuple[bytes, Ints, Ints]:
    """Join documents to text, with the separator before each sentence.

    Return UTF-8 of all documents, end to end; where sentences begin in it, behind a paragraph break but with the space before
    them, and its end [S + 1]; and the first sentence of each document, and the number of all [D + 1].
    """
    flat = sentences.flatten().cast(pa.large_string())
    first = np.append(0, np.cumsum(sentences.value_lengths().fill_null(0).to_numpy())).astype(np.int64)
    starts, of = paragraphs.flatten().to_numpy().astype(np.int64), paragraphs.value_lengths().fill_null(0).to_numpy()
    before = np.full(len(flat), SPACE, np.uint8)
    endings = pc.binary_slice(flat.cast(pa.large_binary()), -3)  # bytes, which is much faster; each ending has three
    unspaced = pc.is_in(endings, pa.array([ending.encode() for ending in UNSPACED], pa.large_binary()))
    before[1:][unspaced.to_numpy(zero_copy_only=False)[:-1]] = NOTHING
    before[starts + np.repeat(first[:-1], of)] = BREAK
    before[first[:-1][np.diff(first) > 0]] = NOTHING
    separators = pa.array(["", " ", PARAGRAPH], pa.large_string()).take(pa.array(before))
    data = pc.binary_join_element_wise(separators, flat, pa.scalar("", pa.large_string()))
    edges = np.append(0, np.cumsum(pc.binary_length(data).to_numpy()))
    utf8 = data.buffers()[2].slice(0, int(edges[-1])).to_pybytes() if edges[-1] else b""
    edges[:-1] += len(PARAGRAPH) * (before == BREAK)
    return utf8, edges, first
