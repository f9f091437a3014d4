"""Train a WordPiece vocabulary, and write and read its directory: vocab.txt, tokenizer.json, tokenizer_config.json.

The directory loads with `transformers.BertTokenizerFast.from_pretrained`, tokenizer.json with `tokenizers`, and all give
equal ids.  An existing vocab.txt, Google's for instance, is read as well.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a worker is one process; threads would fight for its core

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from . import keys
from .config import VocabConfig, read_small
from .errors import EmptyResultError, UsageError
from .files import place, write_json, write_text

__all__ = ["SPECIAL", "Vocabulary", "is_sampled", "read", "special_tokens", "train", "write"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNUSED = 994  # [unused0] to [unused993], as in bert-base-uncased's vocab.txt
_TEXT = 1 << 16  # characters of a text that is given to the trainer
_MOST = 64 << 20  # bytes of a vocab.txt; that of 250,000 pieces has 3 MB
_LONGEST_PIECE = 1000  # characters
_BLANK = " \t\r"
_NO_PIECE = frozenset("\0\r")  # at the second one other readers end a line
_LONGEST = 100  # characters; a longer word is [UNK], as in google-research/bert's WordpieceTokenizer


class Vocabulary(NamedTuple):
    """A vocabulary: its pieces by id, and how text is normalized before it is cut into them."""

    pieces: list[str]
    lowercase: bool
    strip_accents: bool

    def continues(self) -> npt.NDArray[np.bool_]:
        """Tell of each piece [V] whether it goes on with a word (``##ing``)."""
        return np.array([piece.startswith("##") and len(piece) > 2 for piece in self.pieces])

    def tokenizer(self) -> Tokenizer:
        """Return the `tokenizers` form, which adds [CLS] and [SEP] as BERT does."""
        ids = {piece: i for i, piece in enumerate(self.pieces)}
        tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=_LONGEST))
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=self.strip_accents, lowercase=self.lowercase
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
        return tokenizer


def special_tokens(layout: str) -> list[str]:
    """Return the tokens that come first: ids 0 to 4, or BERT's own places with ``[unusedN]`` around them."""
    if layout == "compact":
        return list(SPECIAL)
    unused = [f"[unused{i}]" for i in range(_UNUSED)]
    return [SPECIAL[0], *unused[:99], *SPECIAL[1:], *unused[99:]]


def is_sampled(seed: int, document_id: str, share: float) -> bool:
    """Tell whether a document is in the sample: a function of its id alone, so of no order and no number of workers."""
    return keys.key(seed, "sample", document_id) < share * 2.0**64


def train(words: Mapping[str, int], config: VocabConfig) -> Vocabulary:
    """Train on counted words; raise EmptyResultError where there are none.

    `tokenizers` gives ids to the alphabet and to ``##x`` in the order of a hash map, which differs from run to run and decides
    which of two equally frequent pairs is merged.  So both are chosen here and given to it in a fixed order.
    """
    special = special_tokens(config.layout)
    room = max(1, (config.size - len(special)) // 2)
    alphabet, inner = _alphabet(words, min(config.alphabet, room))
    if not alphabet:
        raise EmptyResultError("the sample holds no text to train on: give a larger corpus, or a larger --sample-bytes")
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = WordPieceTrainer(
        vocab_size=config.size,
        min_frequency=config.min_frequency,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        special_tokens=[*special, *inner],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_repeated(words), trainer)
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    return Vocabulary(pieces, config.lowercase, config.strip_accents)


def _alphabet(words: Mapping[str, int], limit: int) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and ``##x`` for those of them that stand inside words."""
    counts: Counter[str] = Counter()
    inside: set[str] = set()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        inside.update(word[1:])
    alphabet = [c for c, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]]
    return sorted(alphabet), [f"##{c}" for c in sorted(inside.intersection(alphabet))]


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Give every word as often as it was counted, in texts of bounded size."""
    for word, count in words.items():
        most = max(1, _TEXT // (len(word) + 1))
        for start in range(0, count, most):
            yield f"{word} " * min(most, count - start)


def write(directory: Path, vocabulary: Vocabulary) -> list[str]:
    """Write the three files; return their names."""
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


def read(path: str | Path, lowercase: bool | None = None) -> Vocabulary:
    """Read a vocabulary directory or a vocab.txt.

    `lowercase` is what tokenizer_config.json says; without that, a vocabulary with words in upper case is a cased one.  Raise
    UsageError for a file that can't be read or is no vocabulary of BERT, and where `lowercase` is given but said otherwise.
    """
    path = place(path)
    file = path / "vocab.txt" if path.is_dir() else path
    try:
        text = read_small(file, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the vocabulary {file} ({error}): give a vocab.txt, or a directory of train-vocab"
        ) from error
    pieces = _pieces(file, text)
    settings = _read_settings(file.with_name("tokenizer_config.json"))
    if lowercase is not None and settings.get("do_lower_case", lowercase) != lowercase:
        made, asked = ("cased", "lowercase") if lowercase else ("lowercase", "cased")
        raise UsageError(f"--{asked}: {file} is a {made} vocabulary, as tokenizer_config.json beside it says; leave this away")
    if lowercase is None:
        words = (piece for piece in pieces if not (piece.startswith("[") and piece.endswith("]")))
        lowercase = bool(settings.get("do_lower_case", not any(word != word.lower() for word in words)))
    strip_accents = settings.get("strip_accents")
    return Vocabulary(pieces, lowercase, lowercase if strip_accents is None else bool(strip_accents))


def _pieces(file: Path, text: str) -> list[str]:
    """Return the piece of each line, without white space around it, as BERT's own reader takes it."""
    pieces = [line.strip(_BLANK) for line in text.rstrip(_BLANK + "\n").split("\n")]
    if missing := [token for token in SPECIAL if token not in pieces]:
        form = "; give a vocab.txt" if file.suffix == ".json" else ""
        raise UsageError(f"{file} lacks {', '.join(missing)}: it is not a vocabulary of BERT{form}")
    lines: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if not piece:
            raise UsageError(f"{file}: line {number} is blank: ids would be unsure; take it out, or write [unused{number}] there")
        if len(piece) > _LONGEST_PIECE or not _NO_PIECE.isdisjoint(piece):
            raise UsageError(f"{file}: line {number} is no piece of a word ({piece[:40]!a}): it is not a vocabulary of BERT")
        if (first := lines.setdefault(piece, number)) != number:
            where = f"in lines {first} and {number}"
            raise UsageError(f"{file} holds {piece!a} twice, {where}: ids would be wrong; remove the second one")
    return pieces


def _read_settings(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    try:
        settings = json.loads(read_small(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return settings if isinstance(settings, dict) else {}
