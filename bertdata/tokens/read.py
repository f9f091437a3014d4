"""Read a vocabulary: a tokenizer.json, a vocab.txt of BERT, or a directory that `transformers` has saved.

A directory is read as `transformers.AutoTokenizer` does: the class that tokenizer_config.json or config.json names, then
tokenizer.json, then vocab.txt. If the class is BERT's, its settings of case and accents replace those in tokenizer.json. Where
files contradict each other, a note says which one was used.

A vocab.txt without settings is cased if its single letters are: see vocab_txt.py.

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
from ..extras import missing_package
from ..pieces import BERT_TOKENS, ROLES
from ..storage.model_directory import model_directory
from .libraries import failures_as_exceptions
from .vocab import SETTINGS, SPECIAL, Vocabulary, resolved
from .vocab_txt import MAX_BYTES, from_vocab_txt, is_cased, lines, read_text, unreadable

_DEFAULTS = {"lowercase": True, "strip_accents": None, "handle_chinese_chars": True}  # of transformers' BertTokenizer
# Model types and, with "tokenizer", lowercased classes whose tokenizer is BERT's in transformers (tokenization_auto.py, 5.23).
_BERT_TYPES = frozenset((
    "align", "bark", "bert", "blip", "bros", "chinese_clip", "convbert", "distilbert", "electra", "ernie", "flava", "git",
    "layoutlm", "megatron-bert", "mobilebert", "nezha", "nomic_bert", "qdqbert", "realm", "retribert", "squeezebert", "vilt",
    "visual_bert",
))  # fmt: skip
_SAVED = ("config.json", "tokenizer_config.json")  # `transformers` needs one of them
_INSTEAD = {"cls": "bos_token", "sep": "eos_token"}  # used as [CLS] and [SEP] if those are not named
_MAX_IDS = 1 << 24


def read_any(
    path: str | Path, lowercase: bool | None = None, strip_accents: bool | None = None, special_tokens: str = ""
) -> Vocabulary:
    """Read a vocabulary: a file, a directory, or a model of the Hugging Face Hub such as ``answerdotai/ModernBERT-base``.

    Args:
        path: A vocab.txt, a tokenizer.json, their directory, or the name of a model.
        lowercase: Whether to lowercase text, for a vocab.txt whose files do not specify it. By default as `is_cased` detects.
        strip_accents: Whether to strip accents from letters, likewise. By default like `lowercase`, as in BERT.
        special_tokens: Special tokens of a tokenizer.json, in the form of `roles_of`.

    Returns:
        The vocabulary. Its `notes` say what was detected, and which files contradict each other.

    Raises:
        UsageError: The files cannot be read or used, or an option contradicts them or has no effect.
    """
    path = model_directory(path)
    directory = path if path.is_dir() else path.parent
    form, tokens = _files(path)
    stored = _json(directory / "tokenizer_config.json")
    settings, defaults = _settings(directory, stored), _DEFAULTS if _is_bert(directory, stored) else {}
    options = {name: value for name, value in (("lowercase", lowercase), ("strip_accents", strip_accents)) if value is not None}
    if form:
        forced = {**defaults, **settings} if defaults else {}
        found = _from_tokenizer(form, read_text(form), _named(directory, stored), special_tokens, forced)
    elif not tokens:
        found = _from_tokenizer(path, *_read_by_transformers(path), special_tokens, {})
    elif not special_tokens:
        return from_vocab_txt(tokens, settings, defaults, options)
    else:
        wrong = f"`special_tokens` has no effect: {path} is a BERT vocabulary, with {', '.join(SPECIAL)}. Omit the option"
        raise UsageError(wrong, field="special_tokens")
    for name, value in options.items():
        if found.normalizer.get(name) != value:
            wrong = f"`{name}={value}` is for a vocab.txt, but the tokenizer in {form or path} sets it itself. Omit it"
            raise UsageError(wrong, field=name)
    notes = [*found.notes]
    if tokens and set(lines(read_text(tokens))) != set(found.pieces):
        notes.append("vocab.txt and tokenizer.json have different tokens: tokenizer.json is used, as in transformers")
    if tokens and found.normalizer.get("lowercase") is False and is_cased(found.pieces) is False:
        notes.append(
            "tokenizer.json does not lowercase text, and is used as in transformers, but vocab.txt has small letters only:"
            " words with capitals become [UNK]"
        )
    return replace(found, notes=tuple(notes))


def _files(path: Path) -> tuple[Path | None, Path | None]:
    """Return the tokenizer.json and the vocab.txt to read. Neither: `transformers` reads the directory.

    A vocab.txt that was passed by its own path counts alone, unless the tokenizer.json next to it has the same tokens.
    """
    if path.is_dir():
        form, tokens = path / "tokenizer.json", path / "vocab.txt"
        if form.exists():
            return form, tokens if tokens.exists() else None
        return None, None if not tokens.exists() and any((path / name).exists() for name in _SAVED) else tokens
    if path.suffix == ".json":
        return path, None
    form = path.with_name("tokenizer.json")
    if form.exists() and path.name == "vocab.txt":
        vocabulary = _json(form).get("model", {}).get("vocab")
        if isinstance(vocabulary, dict) and sorted(vocabulary, key=vocabulary.__getitem__) == lines(read_text(path)):
            return form, None
    return None, path


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


def _settings(directory: Path, stored: dict[str, Any]) -> dict[str, bool]:
    """Return the settings of a tokenizer_config.json by the names of BERT's normalizer. null is none, as in Google's."""
    settings = {name: stored[key] for name, key in SETTINGS.items() if stored.get(key) is not None}
    for name, value in settings.items():
        if type(value) is not bool:
            wrong = f"{directory / 'tokenizer_config.json'}: {SETTINGS[name]} is {value!r}: write true or false there"
            raise UsageError(wrong)
    return settings


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
    """Return the vocabulary of a tokenizer.json. Raise UsageError if it cannot be used.

    Args:
        where: Name for messages.
        text: Contents of the tokenizer.json.
        named: Special tokens by keys such as ``cls_token``.
        option: `special_tokens`, which are added if the tokenizer lacks them.
        forced: Settings of BERT's normalizer that replace those of the tokenizer.json.
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
    berts = {f"{role}_token": token for role, token in BERT_TOKENS.items()} if model["type"] == "WordPiece" else {}
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
        examples = ", ".join([vocabulary.pieces[i] for i in vocabulary.special.others if vocabulary.pieces[i]][:8])
        has = f"names no token for {', '.join(absent)}: {f'it has {examples}; ' if examples else ''}"
        return f"{has}name one each with `special_tokens`, {shown} for instance, which adds it"
    alike = [role for role in roles if role != "mask" and "mask" in roles and ids[role] == ids["mask"]]
    return f"has one token for mask and {alike[0]}: name another with `special_tokens`" if alike else ""


def _read_by_transformers(path: Path) -> tuple[str, dict[str, str]]:
    """Let `transformers` read a directory; return its tokenizer.json, and its special tokens by keys such as ``cls_token``.

    This is done once, in the process that begins a run, and without a network; workers get the other form.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        problem = "has no vocab.txt and no tokenizer.json, so reading it needs transformers"
        raise missing_package(f"the vocabulary {path} {problem}", "transformers", error) from None
    try:
        loaded = AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False, use_fast=True)
        text = loaded.backend_tokenizer.to_str()
    except Exception as error:  # of many classes, such as AttributeError of a slow tokenizer
        raise unreadable(path, f"with `transformers`: {' '.join(str(error).split())[:300]}") from error
    return text, {key: str(token) for key, token in loaded.special_tokens_map.items() if isinstance(token, str)}
