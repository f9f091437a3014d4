"""Train a WordPiece vocabulary, and write and read its directory: vocab.txt, tokenizer.json, tokenizer_config.json.

The directory loads with `transformers.BertTokenizerFast.from_pretrained`, tokenizer.json with `tokenizers`, both
with the same ids. An existing vocab.txt, such as Google's, or a BERT tokenizer.json can be read, too.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from .. import keys
from ..config import VocabConfig
from ..dataset.tasks import StoredValue
from ..errors import EmptyResultError
from ..pieces import BERT_TOKENS, ROLES, Special, VocabularyEntries, continues_word, of_bert, of_tokenizer
from ..storage.files import write_json, write_text
from .documents import DocumentEncoder
from .encoder import Encoder

__all__ = [
    "NAMED",
    "SPECIAL",
    "Vocabulary",
    "alphabet_of",
    "count_parts",
    "filled",
    "is_sampled",
    "merged",
    "of_run",
    "parts_to_words",
    "repeated",
    "special_tokens",
    "train",
    "write",
]

SPECIAL = tuple(BERT_TOKENS.values())
NAMED = {f"{role}_token": token for role, token in BERT_TOKENS.items()}  # by the keys of a tokenizer_config.json
_UNUSED_TOKENS = 994  # [unused0] to [unused993], as in bert-base-uncased's vocab.txt
_TEXT_CHARS = 1 << 16  # characters of a text that is given to the trainer
_ALONE = r"!-/:-@\[-`{-~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # punctuation of ASCII, and Chinese characters
_PART = re.compile(rf"[^ \t\n\r{_ALONE}]+|[{_ALONE}]")
_MAX_WORD_CHARS = 100  # characters; a longer word is [UNK], as in google-research/bert's WordpieceTokenizer


class _Fields(NamedTuple):
    pieces: list[str]
    lowercase: bool = False
    strip_accents: bool = False
    form: str = ""
    named: Mapping[str, str] = {}  # not changed


class Vocabulary(_Fields):
    """A vocabulary: BERT's by its settings of case and accents, or of another kind by its tokenizer.json.

    Args:
        pieces: Tokens by id.
        lowercase: Whether BERT's text is lowercased.
        strip_accents: Whether accents are stripped from BERT's text.
        form: Contents of the tokenizer.json. Empty for BERT's kind.
        named: Special tokens of another kind, by the keys of a tokenizer_config.json such as ``cls_token``.
    """

    @functools.cached_property
    def special(self) -> Special:
        """The special tokens, which are found among all pieces."""
        return of_tokenizer(json.loads(self.form), dict(self.named))[1] if self.form else of_bert(self.pieces)

    def special_tokens(self) -> dict[str, str]:
        """Return the special tokens by role. Missing ones are omitted."""
        return {role: self.pieces[i] for role, i in self.special._asdict().items() if role in ROLES and i >= 0}

    def document_encoder(self) -> Encoder:
        """Return an encoder of documents."""
        return (DocumentEncoder if self.form else Encoder)(self.tokenizer(), self.pieces, self.special.mark)

    def about(self) -> dict[str, object]:
        """Return the properties that the ids of rows depend on."""
        digest = hashlib.sha256((self.form or "\n".join(self.pieces)).encode()).hexdigest()
        if self.form:
            return {"sha256": digest, "special": self.special_tokens(), "mark": self.special.mark}
        return {"sha256": digest, "lowercase": self.lowercase, "strip_accents": self.strip_accents}

    def in_manifest(self) -> VocabularyEntries:
        """Return the vocabulary's entries for the manifest of rows or ids."""
        if not self.form:
            return {"vocab_size": len(self.pieces)}
        return {"vocab_size": len(self.pieces), "special_tokens": self.special_tokens(), "word_mark": self.special.mark}

    def continues(self) -> npt.NDArray[np.bool_]:
        """Return whether each token [V] continues a word (``##ing``)."""
        return np.array([continues_word(piece, self.special.mark) for piece in self.pieces])

    def tokenizer(self) -> Tokenizer:
        """Return the `tokenizers` form. BERT's adds [CLS] and [SEP]."""
        if self.form:
            return Tokenizer.from_str(self.form)
        ids = {piece: i for i, piece in enumerate(self.pieces)}
        tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=_MAX_WORD_CHARS))
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=self.strip_accents, lowercase=self.lowercase
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        special = [*SPECIAL, *(piece for piece in map(self.pieces.__getitem__, self.special.others) if "unused" not in piece)]
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
        return tokenizer


@functools.lru_cache(maxsize=2)
def of_run(stored: StoredValue) -> Vocabulary:
    """Return the vocabulary that the driver of a run has stored for its workers; it is read once in a process."""
    return Vocabulary(**stored.read())


def special_tokens(layout: str) -> list[str]:
    """Return the tokens that come first: as ids 0 to 4, or with the ids of BERT's vocabulary and ``[unusedN]`` around them."""
    if layout == "compact":
        return list(SPECIAL)
    unused = [f"[unused{i}]" for i in range(_UNUSED_TOKENS)]
    return [SPECIAL[0], *unused[:99], *SPECIAL[1:], *unused[99:]]


def is_sampled(seed: int, document_id: str, share: float) -> bool:
    """Return True if a document is in the sample: a function of its id alone, so of no order and no number of workers."""
    return keys.key(seed, "sample", document_id) < share * 2.0**64


def train(words: Mapping[str, int], config: VocabConfig) -> Vocabulary:
    """Train on counted words. Raise EmptyResultError if there are none.

    The words have accents unless `config.strip_accents` is set. None follows `lowercase`, as in BERT.

    `tokenizers` assigns ids to the alphabet and to ``##x`` in the order of a hash map, which differs between runs and decides
    which of two equally frequent pairs is merged. So this function passes both in a fixed order.
    """
    special = [*special_tokens(config.layout), *config.extra_tokens]
    most = max(1, (config.size - len(special)) // 2)  # characters: each may take two pieces, x and ##x
    alphabet, inner = alphabet_of(words, min(config.alphabet, most))
    if not alphabet:
        raise EmptyResultError("the sample has no text to train on. Use a larger corpus, or a larger `sample_bytes`")
    tokenizer = merged(Tokenizer(WordPiece(unk_token="[UNK]")), WordPieceTrainer, words, alphabet, [*special, *inner], config)
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    strip = config.lowercase if config.strip_accents is None else config.strip_accents
    return Vocabulary(filled(pieces, config), bool(config.lowercase), bool(strip))


def merged(
    tokenizer: Tokenizer, trainer: type[Any], words: Mapping[str, int], alphabet: list[str], first: list[str], config: VocabConfig
) -> Tokenizer:
    """Train a tokenizer whose pieces are merged from characters; `first` are the pieces with the first ids."""
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    how = trainer(
        vocab_size=config.size,
        min_frequency=config.min_frequency,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        special_tokens=first,
        show_progress=False,
    )
    tokenizer.train_from_iterator(repeated(words), how)
    return tokenizer


def filled(pieces: list[str], config: VocabConfig) -> list[str]:
    """Append ``[unusedN]`` tokens up to a multiple of `config.pad_to_multiple_of`."""
    used = set(pieces)
    missing = -len(pieces) % config.pad_to_multiple_of if config.pad_to_multiple_of else 0
    unused = (name for number in itertools.count() if (name := f"[unused{number}]") not in used)
    return [*pieces, *itertools.islice(unused, missing)]


def alphabet_of(words: Mapping[str, int], limit: int) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and ``##x`` for those that occur inside words."""
    counts: Counter[str] = Counter()
    inside: set[str] = set()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        inside.update(word[1:])
    alphabet = [c for c, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]]
    return sorted(alphabet), [f"##{c}" for c in sorted(inside.intersection(alphabet))]


def repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Yield every word as often as it was counted, in texts of limited size."""
    for word, count in words.items():
        most = max(1, _TEXT_CHARS // (len(word) + 1))
        for start in range(0, count, most):
            yield f"{word} " * min(most, count - start)


def write(directory: Path, vocabulary: Vocabulary) -> list[str]:
    """Write the files of a vocabulary, with which `transformers` loads it; return their names."""
    config: dict[str, object] = {"tokenizer_class": "PreTrainedTokenizerFast", **vocabulary.named}
    if not vocabulary.form:
        write_text(directory / "vocab.txt", "".join(f"{piece}\n" for piece in vocabulary.pieces))
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": vocabulary.lowercase,
            "strip_accents": vocabulary.strip_accents,
            "tokenize_chinese_chars": True,
            **NAMED,
        }
    write_text(directory / "tokenizer.json", vocabulary.tokenizer().to_str(pretty=True) + "\n")
    write_json(directory / "tokenizer_config.json", config)
    return [*([] if vocabulary.form else ["vocab.txt"]), "tokenizer.json", "tokenizer_config.json"]


def count_parts(sentences: Iterable[str]) -> Counter[str]:
    """Count the parts of sentences between whitespace, punctuation and Chinese characters.

    Counts of several calls may be added up before they become words, which is much faster than to cut each sentence into words.
    """
    return Counter(itertools.chain.from_iterable(map(_PART.findall, sentences)))


def parts_to_words(parts: Counter[str], tokenizer: Tokenizer) -> Counter[str]:
    """Turn counted parts into counted words, as the tokenizer's normalizer and pre-tokenizer make them.

    >>> tokenizer = Vocabulary(list(SPECIAL), lowercase=True, strip_accents=True).tokenizer()
    >>> sorted(parts_to_words(count_parts(["Tea, tea", "TEA!"]), tokenizer).items())
    [('!', 1), (',', 1), ('tea', 3)]
    """
    words: Counter[str] = Counter()
    normalize, cut = tokenizer.normalizer.normalize_str, tokenizer.pre_tokenizer.pre_tokenize_str
    for part, count in parts.items():
        for word, _ in cut(normalize(part)):
            words[word] += count
    return words
