"""A vocabulary: the contents of a tokenizer.json, and which of its tokens are special. A vocab.txt of BERT becomes one.

vocabulary = from_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##s"], lowercase=True, strip_accents=True)
Encoder(vocabulary).encode(["Teas tea"])         # ids [T], and the end of each sentence in them [S]
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

from ..dataset.tasks import StoredValue
from ..pieces import BERT_TOKENS, ROLES, Special, continues_word, of_tokenizer
from ..storage.files import write_json, write_text

SPECIAL = tuple(BERT_TOKENS.values())
NAMED = {f"{role}_token": token for role, token in BERT_TOKENS.items()}  # by the keys of a tokenizer_config.json
SETTINGS = {"lowercase": "do_lower_case", "strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars"}
_MAX_WORD_CHARS = 100  # a longer word is [UNK], as in google-research/bert's WordpieceTokenizer


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary.

    Args:
        form: Contents of its tokenizer.json.
        named: Its special tokens, by the keys of a tokenizer_config.json such as ``cls_token``.
        library: The library that encodes text with it: ``tokenizers``, or a faster one with the same ids (see encode.py).
        notes: Sentences about how its files were read.
    """

    form: str
    named: Mapping[str, str]
    library: str = "tokenizers"
    notes: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def parsed(self) -> dict[str, Any]:
        """The tokenizer.json as an object."""
        return dict(json.loads(self.form))

    @functools.cached_property
    def pieces(self) -> list[str]:
        """The tokens by id [V]. An id without a token has ""."""
        return of_tokenizer(self.parsed, dict(self.named))[0]

    @functools.cached_property
    def special(self) -> Special:
        """The ids of the special tokens."""
        return of_tokenizer(self.parsed, dict(self.named))[1]

    @functools.cached_property
    def continues(self) -> npt.NDArray[np.bool_]:
        """Whether each token [V] continues a word (``##ing``)."""
        return np.array([continues_word(piece, self.special.mark) for piece in self.pieces])

    @property
    def normalizer(self) -> dict[str, Any]:
        """The settings of BERT's normalizer, or an empty dictionary if it has another one."""
        found = self.parsed.get("normalizer") or {}
        return resolved(found) if found.get("type") == "BertNormalizer" else {}

    @property
    def splits_sentences(self) -> bool:
        """Whether the ids of a sentence never depend on the text around it: words end at spaces and at punctuation."""
        return bool(self.normalizer) and (self.parsed.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"

    @property
    def is_bert(self) -> bool:
        """Whether it cuts words as BERT does, into pieces that a vocab.txt can hold."""
        return self.splits_sentences and bool(self.parsed["model"]["type"] == "WordPiece")

    def special_tokens(self) -> dict[str, str]:
        """Return the special tokens by role. Missing ones are omitted."""
        return {role: self.pieces[i] for role, i in self.special._asdict().items() if role in ROLES and i >= 0}

    def tokenizer(self) -> Tokenizer:
        """Return the vocabulary as a tokenizer of `tokenizers`."""
        return Tokenizer.from_str(self.form)

    def about(self) -> dict[str, object]:
        """Return the properties that the ids of rows depend on."""
        digest = hashlib.sha256(self.form.encode()).hexdigest()
        return {"sha256": digest, "special": self.special_tokens(), "library": self.library}

    def in_manifest(self) -> dict[str, Any]:
        """Return the vocabulary's entries for the manifest of rows or ids."""
        return {"vocab_size": len(self.pieces), "special_tokens": self.special_tokens(), "word_mark": self.special.mark}


@functools.lru_cache(maxsize=2)
def of_run(stored: StoredValue) -> Vocabulary:
    """Return the vocabulary that the driver of a run has stored for its workers; it is read once in a process."""
    return Vocabulary(**stored.read())


def resolved(normalizer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of BERT's normalizer, whose `strip_accents` null means as `lowercase`."""
    strip = normalizer["strip_accents"]
    return {**normalizer, "strip_accents": normalizer["lowercase"] if strip is None else strip}


def from_tokens(tokens: Sequence[str], lowercase: bool, strip_accents: bool | None) -> Vocabulary:
    """Return BERT's WordPiece vocabulary with these tokens by id. `strip_accents` None follows `lowercase`, as in BERT."""
    ids = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=_MAX_WORD_CHARS))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=strip_accents, lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    others = [t for t in tokens if t[:1] == "[" and t[-1:] == "]" and len(t) > 2 and "unused" not in t and t not in SPECIAL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in [*SPECIAL, *others]])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return Vocabulary(tokenizer.to_str(), NAMED)


def unused_names(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the names ``[unusedN]`` that a vocabulary does not have yet."""
    used = set(pieces)
    return (name for number in itertools.count() if (name := f"[unused{number}]") not in used)


def write(directory: Path, vocabulary: Vocabulary) -> list[str]:
    """Write the files of a vocabulary, with which `transformers` loads it; return their names. WordPiece has a vocab.txt too."""
    config: dict[str, object] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    names = ["tokenizer.json", "tokenizer_config.json"]
    if vocabulary.is_bert and "" not in vocabulary.pieces:
        settings = {key: vocabulary.normalizer[name] for name, key in SETTINGS.items()}
        config = {"tokenizer_class": "BertTokenizer", **settings}
        write_text(directory / "vocab.txt", "".join(f"{piece}\n" for piece in vocabulary.pieces))
        names.insert(0, "vocab.txt")
    write_text(directory / "tokenizer.json", vocabulary.tokenizer().to_str(pretty=True) + "\n")
    write_json(directory / "tokenizer_config.json", {**config, **vocabulary.named})
    return names
