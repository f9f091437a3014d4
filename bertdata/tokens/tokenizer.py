"""Read any tokenizer.json of `tokenizers`, with the special tokens and word marks that rows need.

The special tokens come from an option, from tokenizer_config.json or special_tokens_map.json in the same directory, or from the
tokens that the tokenizer adds around a text. If [CLS] and [SEP] are not named, a sequence's first and last tokens, such as
``<s>`` and ``</s>``, are used for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer

from ..config import OBJECTIVES, read_small
from ..errors import UsageError
from ..pieces import ROLES, Special, VocabularyEntries, continues_word, of_tokenizer
from ..storage.files import write_json, write_text
from .bert_files import MAX_TOKENIZER_BYTES, parse_tokenizer
from .documents import DocumentEncoder
from .engines import steps

__all__ = ["TokenizerVocabulary", "missing", "read_named", "roles_of", "vocabulary_of"]

_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json")
_INSTEAD = {"cls": "bos_token", "sep": "eos_token"}  # used as [CLS] and [SEP] if those are not named


class TokenizerVocabulary(NamedTuple):
    """A vocabulary of any kind: pieces by id, special tokens, their names as tokenizer_config.json has them, tokenizer.json."""

    pieces: list[str]
    special: Special
    named: dict[str, str]
    form: str

    def continues(self) -> npt.NDArray[np.bool_]:
        """Return whether each token [V] continues a word."""
        return np.array([continues_word(piece, self.special.mark) for piece in self.pieces])

    def tokenizer(self) -> Tokenizer:
        """Return the `tokenizers` form."""
        return Tokenizer.from_str(self.form)

    def document_encoder(self) -> DocumentEncoder:
        """Return what turns documents into ids."""
        return DocumentEncoder(self.tokenizer(), self.pieces, self.special.mark)

    def about(self) -> dict[str, object]:
        """Return what rows depend on of it."""
        return {
            "sha256": hashlib.sha256(self.form.encode()).hexdigest(),
            "special": self.special_tokens(),
            "mark": self.special.mark,
        }

    def in_manifest(self) -> VocabularyEntries:
        """Return the vocabulary's entries for the manifest of rows or ids, including its word mark."""
        return {"vocab_size": len(self.pieces), "special_tokens": self.special_tokens(), "word_mark": self.special.mark}

    def special_tokens(self) -> dict[str, str]:
        """Return the special tokens that there are, by their roles."""
        return {role: self.pieces[i] for role, i in self.special._asdict().items() if role in ROLES and i >= 0}

    def for_rows(self) -> TokenizerVocabulary:
        """Return it without its tokenizer, for those who have the ids."""
        return self._replace(form="")

    def write(self, directory: Path) -> list[str]:
        """Write tokenizer.json and tokenizer_config.json, with which `transformers` loads it; return their names."""
        write_text(directory / "tokenizer.json", self.tokenizer().to_str(pretty=True) + "\n")
        write_json(directory / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **self.named})
        return ["tokenizer.json", "tokenizer_config.json"]


def read_named(directory: Path) -> dict[str, str]:
    """Read which tokens have which role, by keys such as ``cls_token``, from the files next to a tokenizer.json."""
    named: dict[str, str] = {}
    for path in (directory / name for name in reversed(_SETTINGS)):
        if not path.exists():
            continue
        try:
            settings = json.loads(read_small(path, MAX_TOKENIZER_BYTES).decode("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"cannot read {path}: {error}") from error
        for key, value in settings.items() if isinstance(settings, dict) else ():
            token = value.get("content") if isinstance(value, dict) else value
            if key.endswith("_token") and isinstance(token, str) and token:
                named[key] = token
    return named


def roles_of(option: str) -> dict[str, str]:
    """Read the option that names special tokens.

    >>> roles_of("cls=<s>, sep=</s>")
    {'cls_token': '<s>', 'sep_token': '</s>'}
    """
    roles = {}
    for part in filter(None, (part.strip() for part in option.split(","))):
        role, equals, token = part.partition("=")
        if role not in ROLES or not equals or not token:
            raise UsageError(
                f"`special_tokens` {part}: write ROLE=TOKEN, with commas between; the roles are {', '.join(ROLES)}",
                field="special_tokens",
                value=part,
            )
        roles[f"{role}_token"] = token
    return roles


def vocabulary_of(where: str, text: str, named_tokens: Mapping[str, str], option: str) -> TokenizerVocabulary:
    """Return the vocabulary of a tokenizer.json. Raise UsageError if it cannot be used.

    Args:
        where: Name for messages.
        text: Contents of the tokenizer.json.
        named_tokens: Result of `read_named`.
        option: `special_tokens`. Tokens that the tokenizer lacks are added.
    """
    parsed = parse_tokenizer(where, text)
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # of no narrower class
        raise UsageError(
            f"`tokenizers` cannot read {where} ({error}): save it with this release of `tokenizers`", field="tokenizers"
        ) from error
    if parsed["model"].get("dropout"):
        raise UsageError(f"{where} drops merges by chance, so ids would differ from run to run: set its model's dropout to null")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    roles = roles_of(option)
    named = {**_of_model(parsed), **_around(parsed), **named_tokens}
    named |= {f"{role}_token": named[key] for role, key in _INSTEAD.items() if f"{role}_token" not in named and key in named}
    named = {key: token for key, token in {**named, **roles}.items() if key in roles or tokenizer.token_to_id(token) is not None}
    tokens = {named[key] for key in (f"{role}_token" for role in ROLES) if key in named and key != "unk_token"}
    absent = [token for token in sorted(tokens) if tokenizer.token_to_id(token) is None]
    known = {entry["content"] for entry in parsed.get("added_tokens") or [] if entry.get("special")}
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False, special=True) for token in [*sorted(tokens - known - {*absent}), *absent]]
    )
    form = tokenizer.to_str()
    pieces, special = of_tokenizer(json.loads(form), named)
    if len(pieces) > 1 << 24:
        raise UsageError(f"{where} has an id of {len(pieces) - 1:,}: ids would be unsure")
    return TokenizerVocabulary(pieces, special, dict(sorted(named.items())), form)


def missing(vocabulary: TokenizerVocabulary, objective: str) -> str:
    """Return which special tokens a vocabulary lacks for rows, and how to add them, or an empty string.

    Two roles may share a token, but [MASK] and padding must differ from all other tokens in rows.
    """
    roles = OBJECTIVES[objective].roles
    ids = vocabulary.special._asdict()
    absent = [role for role in roles if ids[role] < 0]
    if not absent:
        alike = [role for role in roles if role != "mask" and "mask" in roles and ids[role] == ids["mask"]]
        return f"has one token for mask and {alike[0]}: name another with `special_tokens`" if alike else ""
    shown = ",".join(f"{role}=[{role.upper()}]" for role in absent)
    examples = [vocabulary.pieces[i] for i in vocabulary.special.others if vocabulary.pieces[i]][:8]
    has = f"it has {', '.join(examples)}; " if examples else ""
    return (
        f"names no token for {', '.join(absent)}: {has}name one each with `special_tokens`, {shown} for instance, which adds it"
    )


def _of_model(parsed: dict[str, Any]) -> dict[str, str]:
    """Return the token of unknown words, as the model has it."""
    model = parsed["model"]
    if isinstance(unknown := model.get("unk_id"), int) and isinstance(model.get("vocab"), list) and unknown < len(model["vocab"]):
        return {"unk_token": str(model["vocab"][unknown][0])}
    return {"unk_token": model["unk_token"]} if isinstance(model.get("unk_token"), str) else {}


def _around(parsed: dict[str, Any]) -> dict[str, str]:
    """Return what a tokenizer puts around a text."""
    for part in steps(parsed.get("post_processor"), "processors"):
        if part["type"] in ("BertProcessing", "RobertaProcessing"):
            return {"bos_token": part["cls"][0], "eos_token": part["sep"][0]}
        if part["type"] == "TemplateProcessing":
            names = [next(iter(step.items())) for step in part["single"]]
            text = [kind for kind, _ in names].index("Sequence")
            first, last = names[:text], names[text + 1 :]
            return {
                **({"bos_token": first[0][1]["id"]} if first else {}),
                **({"eos_token": last[-1][1]["id"]} if last else {}),
            }
    return {}
