"""Read a vocabulary: a tokenizer.json, a vocab.txt of BERT, or a directory that `transformers` has saved.

A directory is read as `transformers.AutoTokenizer` does: the class that tokenizer_config.json or config.json names, then
tokenizer.json, then vocab.txt. If the class is BERT's, its settings of case and accents replace those in tokenizer.json. Where
files contradict each other, a note says which one was used. A vocab.txt without settings is cased if its single letters are.

Special tokens come from an option, from tokenizer_config.json or special_tokens_map.json in the same directory, from BERT's
names, or from the tokens that the tokenizer adds around a text, such as ``<s>`` and ``</s>``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel

from ..config import OBJECTIVES, read_small
from ..errors import UsageError
from ..pieces import BERT_TOKENS, ROLES
from ..storage.model_directory import model_directory
from .libraries import failures_as_exceptions
from .vocab import NAMED, SETTINGS, SPECIAL, Vocabulary, resolved
from .vocab_txt import MAX_BYTES, from_vocab_txt, is_cased, lines, read_text, unreadable

_DEFAULTS = {"lowercase": True, "strip_accents": None, "handle_chinese_chars": True}  # of transformers' BertTokenizer
# Model types and, with "tokenizer", lowercased classes whose tokenizer is BERT's in transformers (tokenization_auto.py, 5.23).
_BERT_TYPES = frozenset((
    "align", "bark", "bert", "blip", "bros", "chinese_clip", "convbert", "distilbert", "electra", "ernie", "flava", "git",
    "layoutlm", "megatron-bert", "mobilebert", "nezha", "nomic_bert", "squeezebert", "vilt", "visual_bert",
))  # fmt: skip
_INSTEAD = {"cls": "bos_token", "sep": "eos_token"}  # used as [CLS] and [SEP] if those are not named
_MAX_IDS = 1 << 24


def read_any(
    path: str | Path, lowercase: bool | None = None, strip_accents: bool | None = None, special_tokens: str = ""
) -> Vocabulary:
    """Read a vocabulary: a file, a directory, or a model of the Hugging Face Hub such as ``answerdotai/ModernBERT-base``.

    `lowercase` and `strip_accents` are for a vocab.txt whose files do not specify them. `special_tokens` are those of a
    tokenizer.json, in the form of `roles_of`. Raise UsageError if files cannot be used, or an option contradicts them.
    """
    path = model_directory(path)
    directory = path if path.is_dir() else path.parent
    form, tokens = _files(path)
    stored = _json(directory / "tokenizer_config.json")
    settings = {name: stored[key] for name, key in SETTINGS.items() if isinstance(stored.get(key), bool)}
    defaults = _DEFAULTS if _is_bert(directory, stored) else {}
    options = {name: value for name, value in (("lowercase", lowercase), ("strip_accents", strip_accents)) if value is not None}
    if not form and special_tokens:
        wrong = f"`special_tokens` has no effect: {path} is a BERT vocabulary, with {', '.join(SPECIAL)}. Omit the option"
        raise UsageError(wrong, field="special_tokens")
    if not form:
        return from_vocab_txt(tokens or path, settings, defaults, options)
    forced = {**defaults, **settings} if defaults else {}
    found = _from_tokenizer(form, read_text(form), _named(directory, stored), special_tokens, forced)
    for name, value in options.items():
        if found.normalizer.get(name) != value:
            wrong = f"`{name}={value}` is for a vocab.txt, but the tokenizer in {form} sets it itself. Omit it"
            raise UsageError(wrong, field=name)
    notes = [*found.notes]
    if tokens and set(lines(read_text(tokens))) != set(found.pieces):
        notes.append("vocab.txt and tokenizer.json have different tokens: tokenizer.json is used, as in transformers")
    if tokens and found.normalizer.get("lowercase") is False and is_cased(found.pieces) is False:
        notes.append(
            "tokenizer.json does not lowercase text, and vocab.txt has only small letters: words with capitals are [UNK]"
        )
    return replace(found, notes=tuple(notes))


def _files(path: Path) -> tuple[Path | None, Path | None]:
    """Return the tokenizer.json and the vocab.txt to read.

    A vocab.txt that was passed by its own path counts alone, unless the tokenizer.json next to it has the same tokens.
    """
    form, tokens = (path / name if path.is_dir() else path.with_name(name) for name in ("tokenizer.json", "vocab.txt"))
    if path.is_dir():
        return (form, tokens if tokens.exists() else None) if form.exists() else (None, tokens)
    if path == tokens and form.exists():
        ids = _json(form).get("model", {}).get("vocab")
        if isinstance(ids, dict) and sorted(ids, key=ids.__getitem__) == lines(read_text(path)):
            return form, None
    return (path, None) if path.suffix == ".json" else (None, path)


def _is_bert(directory: Path, stored: dict[str, Any]) -> bool:
    """Return True if tokenizer_config.json or config.json names a model whose tokenizer is BERT's in transformers."""
    name = stored.get("tokenizer_class")
    if not isinstance(name, str):
        return _json(directory / "config.json").get("model_type") in _BERT_TYPES
    return name.removesuffix("Fast").removesuffix("Tokenizer").lower() in {kind.replace("-", "") for kind in _BERT_TYPES}


def _json(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file, which is empty if it has none."""
    try:
        value = json.loads(read_small(path, MAX_BYTES).decode("utf-8")) if path.exists() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return value if isinstance(value, dict) else {}


def _named(directory: Path, stored: dict[str, Any]) -> dict[str, str]:
    """Read which tokens have which role, by keys such as ``cls_token``, from the files next to a tokenizer.json."""
    values = {**_json(directory / "special_tokens_map.json"), **stored}
    tokens = {key: value.get("content") if isinstance(value, dict) else value for key, value in values.items()}
    return {key: token for key, token in tokens.items() if key.endswith("_token") and isinstance(token, str) and token}


def roles_of(option: str) -> dict[str, str]:
    """Read the option that names special tokens.

    >>> roles_of("cls=<s>, sep=</s>")
    {'cls_token': '<s>', 'sep_token': '</s>'}
    """
    roles = {}
    for part in filter(None, map(str.strip, option.split(","))):
        role, _, token = part.partition("=")
        if role not in ROLES or not token:
            wrong = f"`special_tokens` {part}: write ROLE=TOKEN, with commas between; the roles are {', '.join(ROLES)}"
            raise UsageError(wrong, field="special_tokens", value=part)
        roles[f"{role}_token"] = token
    return roles


def _from_tokenizer(where: Path, text: str, named: dict[str, str], option: str, forced: dict[str, Any]) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json, with special tokens by keys such as ``cls_token`` and those of the `option`.

    `forced` settings of BERT's normalizer replace its own. Raise UsageError if it cannot be used.
    """
    try:
        with failures_as_exceptions():
            tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # of no narrower class
        raise unreadable(where, error) from error
    if (last := max(tokenizer.get_vocab().values(), default=0)) >= _MAX_IDS:
        raise UsageError(f"{where} has an id of {last:,}: ids would be unsure")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    form = json.loads(tokenizer.to_str())
    model, normalizer, notes = form["model"], form["normalizer"] or {}, []
    if model.get("dropout"):
        raise UsageError(f"{where} drops merges by chance, so ids would differ from run to run: set its model's dropout to null")
    for name, value in forced.items() if normalizer.get("type") == "BertNormalizer" else ():
        if resolved(normalizer)[name] != resolved({**normalizer, **forced})[name]:
            used, other = json.dumps(value), json.dumps(normalizer[name])
            notes.append(f"{SETTINGS[name]} is {used}, as transformers reads it, but {where.name} has {other}")
            normalizer[name] = value
    if notes:
        tokenizer = Tokenizer.from_str(json.dumps(form))
    unknown = model.get("unk_token") if model.get("unk_id") is None else model["vocab"][model["unk_id"]][0]
    around = tokenizer.post_process(Tokenizer(WordLevel({"a": 0}, "a")).encode("a"))
    ends = {key: around.tokens[i] for key, i in (("bos_token", 0), ("eos_token", -1)) if around.special_tokens_mask[i]}
    berts = NAMED if model["type"] == "WordPiece" else {}
    roles, named = roles_of(option), {**berts, "unk_token": unknown or "", **named}
    named = {key: token for key, token in named.items() if tokenizer.token_to_id(token) is not None}
    for role, key in _INSTEAD.items():
        if token := named.get(key, ends.get(key)):
            named.setdefault(f"{role}_token", token)
    named |= roles
    tokens = {named[key] for key in (f"{role}_token" for role in ROLES if role != "unk") if key in named}
    special = {entry["content"] for entry in form["added_tokens"] if entry["special"]}
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in sorted(tokens - special)])
    return Vocabulary(tokenizer.to_str(), dict(sorted(named.items())), notes=tuple(notes))


def missing(vocabulary: Vocabulary, objective: str) -> str:
    """Return which special tokens a vocabulary lacks for rows, and how to add them, or an empty string.

    Two roles may share a token, but [MASK] and padding must differ from all other tokens in rows.
    """
    roles = OBJECTIVES[objective].roles
    ids = vocabulary.special._asdict()
    if absent := [role for role in roles if ids[role] < 0]:
        shown = ",".join(f"{role}={BERT_TOKENS[role]}" for role in absent)
        return f"names no token for {', '.join(absent)}: name one each with `special_tokens`, {shown} for instance, which adds it"
    alike = [role for role in roles if role != "mask" and "mask" in roles and ids[role] == ids["mask"]]
    return f"has one token for mask and {alike[0]}: name another with `special_tokens`" if alike else ""
