"""Train a WordPiece vocabulary, and write and read its directory: vocab.txt, tokenizer.json, tokenizer_config.json.

The directory loads with `transformers.BertTokenizerFast.from_pretrained`, tokenizer.json with `tokenizers`, both
with the same ids. An existing vocab.txt, such as Google's, or a BERT tokenizer.json can be read, too.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from .. import keys
from ..config import VocabConfig
from ..dataset.plan_files import StoredValue
from ..errors import EmptyResultError, UsageError
from ..pieces import BERT_TOKENS, Special, VocabularyEntries, continues_word, of_bert
from ..storage.files import to_path, write_json, write_text
from .bert_files import SETTINGS, read_pieces, read_settings, read_tokenizer
from .encoder import Encoder
from .tokenizer import TokenizerVocabulary

__all__ = [
    "SPECIAL",
    "AnyVocabulary",
    "Vocabulary",
    "alphabet_of",
    "filled",
    "is_sampled",
    "merged",
    "of_run",
    "read",
    "repeated",
    "says_accents",
    "special_tokens",
    "train",
    "write",
]

SPECIAL = tuple(BERT_TOKENS.values())
_UNUSED_TOKENS = 994  # [unused0] to [unused993], as in bert-base-uncased's vocab.txt
_TEXT_CHARS = 1 << 16  # characters of a text that is given to the trainer
_MAX_WORD_CHARS = 100  # characters; a longer word is [UNK], as in google-research/bert's WordpieceTokenizer


class _Fields(NamedTuple):
    pieces: list[str]
    lowercase: bool
    strip_accents: bool


class Vocabulary(_Fields):
    """A vocabulary: its pieces by id, and how text is normalized before it is cut into them."""

    @functools.cached_property
    def special(self) -> Special:
        """The special tokens, which are found among all pieces."""
        return of_bert(self.pieces)

    def document_encoder(self) -> Encoder:
        """Return what turns documents into ids."""
        return Encoder(self.tokenizer(), self.pieces)

    def about(self) -> dict[str, object]:
        """Return what rows depend on of it."""
        pieces = hashlib.sha256("\n".join(self.pieces).encode()).hexdigest()
        return {"sha256": pieces, "lowercase": self.lowercase, "strip_accents": self.strip_accents}

    def in_manifest(self) -> VocabularyEntries:
        """Return what the manifest of rows or ids says of it."""
        return {"vocab_size": len(self.pieces)}

    def for_rows(self) -> Vocabulary:
        """Return the part that code with token ids needs."""
        return self

    def continues(self) -> npt.NDArray[np.bool_]:
        """Return whether each token [V] continues a word (``##ing``)."""
        return np.array([continues_word(piece) for piece in self.pieces])

    def tokenizer(self) -> Tokenizer:
        """Return the `tokenizers` form, which adds [CLS] and [SEP] as BERT does."""
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


AnyVocabulary = Vocabulary | TokenizerVocabulary


@functools.lru_cache(maxsize=2)
def of_run(stored: StoredValue) -> AnyVocabulary:
    """Return the vocabulary that the driver of a run has stored for its workers; it is read once in a process."""
    value = stored.read()
    if "form" not in value:
        return Vocabulary(**value)
    special = Special(*value["special"])
    return TokenizerVocabulary(**{**value, "special": special._replace(others=tuple(special.others))})


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


def write(directory: Path, vocabulary: AnyVocabulary) -> list[str]:
    """Write the files of a vocabulary; return their names."""
    if isinstance(vocabulary, TokenizerVocabulary):
        return vocabulary.write(directory)
    write_text(directory / "vocab.txt", "".join(f"{piece}\n" for piece in vocabulary.pieces))
    write_text(directory / "tokenizer.json", vocabulary.tokenizer().to_str(pretty=True) + "\n")
    names = ("pad", "unk", "cls", "sep", "mask")
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": vocabulary.lowercase,
        "strip_accents": vocabulary.strip_accents,
        "tokenize_chinese_chars": True,
        **{f"{name}_token": token for name, token in zip(names, SPECIAL, strict=True)},
    }
    write_json(directory / "tokenizer_config.json", config)
    return ["vocab.txt", "tokenizer.json", "tokenizer_config.json"]


def read(path: str | Path, lowercase: bool | None = None, strip_accents: bool | None = None) -> Vocabulary:
    """Read a vocabulary of BERT's kind: a directory, a vocab.txt or a tokenizer.json.

    `lowercase` and `strip_accents` default to the values in tokenizer_config.json or tokenizer.json. Without these files, a
    vocabulary with uppercase words is cased, and accents are stripped from lowercase text, as in BERT. Raise UsageError if the
    file cannot be read or is not a BERT vocabulary, or if an argument contradicts the files.
    """
    file = _file(to_path(path))
    config = file if file.suffix == ".json" else file.with_name("tokenizer_config.json")
    pieces, settings = read_tokenizer(file) if file == config else (read_pieces(file), read_settings(config))
    for (name, field), value in zip(SETTINGS.items(), (lowercase, strip_accents), strict=True):
        stored = settings.get(name)
        if value is not None and stored is not None and stored != value:
            raise UsageError(
                f"`{field}={value}`: {file} was made with `{field}={stored}`, as {config.name} says: omit `{field}={value}`"
            )
        settings[name] = value if stored is None else stored
    lower, strip = (settings[name] for name in SETTINGS)
    if lower is None:
        words = (piece for piece in pieces if not (piece.startswith("[") and piece.endswith("]")))
        lower = not any(word != word.lower() for word in words)
    return Vocabulary(pieces, lower, lower if strip is None else strip)


def says_accents(path: str | Path) -> bool:
    """Return True if a vocabulary's files specify whether to strip accents."""
    file = _file(to_path(path))
    return file.suffix == ".json" or "strip_accents" in read_settings(file.with_name("tokenizer_config.json"))


def _file(path: Path) -> Path:
    """Return the file that a vocabulary is read from."""
    if not path.is_dir():
        return path
    files = (path / name for name in ("vocab.txt", "tokenizer.json"))
    return next((file for file in files if file.exists()), path / "vocab.txt")
