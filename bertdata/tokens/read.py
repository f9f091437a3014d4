"""Read a vocabulary of any kind: BERT's, a tokenizer.json of `tokenizers`, or a directory that `transformers` has saved."""

from __future__ import annotations

from pathlib import Path

from ..config import read_small
from ..errors import UsageError
from ..extras import missing_package
from ..storage.model_directory import model_directory
from . import vocab
from .bert_files import MAX_TOKENIZER_BYTES, is_bert
from .tokenizer import read_named, vocabulary_of

__all__ = ["read_any"]

_SAVED = (  # files of a directory that `transformers` may read
    *("config.json", "tokenizer_config.json", "vocab.json", "tokenizer.model", "spiece.model", "spm.model"),
    *("sentencepiece.bpe.model", "bpe.codes"),
)


def read_any(
    path: str | Path, lowercase: bool | None = None, strip_accents: bool | None = None, special_tokens: str = ""
) -> vocab.AnyVocabulary:
    """Read any vocabulary: BERT's as in `vocab.read`, another tokenizer.json, or a model of `transformers`.

    The model is a directory, or one of the Hugging Face Hub such as ``answerdotai/ModernBERT-base``.
    `special_tokens` sets the special tokens of a vocabulary that is not BERT's, in the form of `tokenizer.roles_of`. Raise
    UsageError as in `vocab.read`, and for an option without effect.
    """
    path = model_directory(path)
    other_kind = _of_another_kind(path)
    if other_kind is None:
        if special_tokens:
            raise UsageError(
                f"`special_tokens` has no effect: {path} is a BERT vocabulary, with {', '.join(vocab.SPECIAL)}. Omit the option",
                field="special_tokens",
            )
        return vocab.read(path, lowercase, strip_accents)
    for name, value in (("lowercase", lowercase), ("strip_accents", strip_accents)):
        if value is not None:
            raise UsageError(
                f"`{name}={value}` only applies to a bare vocab.txt, but the tokenizer in {path} sets it itself. Omit it"
            )
    return vocabulary_of(*other_kind, special_tokens)


def _of_another_kind(path: Path) -> tuple[str, str, dict[str, str]] | None:
    """Return the name, text and named special tokens of a tokenizer.json that is not BERT's, or None for BERT's."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if path.is_dir() and not file.exists() and not (path / "vocab.txt").exists():
        return (str(path), *_read_by_transformers(path)) if any((path / name).exists() for name in _SAVED) else None
    if file.suffix != ".json" or not file.exists():
        return None
    try:
        text = read_small(file, MAX_TOKENIZER_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return None  # `vocab.read` reports the problem
    if is_bert(text) or (path.is_dir() and _is_bert_txt(path / "vocab.txt")):
        return None
    return str(file), text, read_named(file.parent)


def _is_bert_txt(file: Path) -> bool:
    """Return True if a vocab.txt has all special pieces of BERT."""
    try:
        return set(vocab.SPECIAL) <= {
            line.strip() for line in read_small(file, MAX_TOKENIZER_BYTES).decode("utf-8-sig").split("\n")
        }
    except (OSError, ValueError):
        return file.exists()  # `vocab.read` reports the problem


def _read_by_transformers(path: Path) -> tuple[str, dict[str, str]]:
    """Let `transformers` read a directory; return its tokenizer.json, and its special tokens by keys such as ``cls_token``.

    This is done once, in the process that begins a run, and without a network; workers get the other form.
    Raise UsageError where `transformers` is missing, cannot read the directory, or has no form of `tokenizers` for it.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        problem = "has no vocab.txt and no tokenizer.json, so reading it needs transformers"
        raise missing_package(f"the vocabulary {path} {problem}", "transformers", error) from None
    try:
        loaded = AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False, use_fast=True)
    except Exception as error:  # of many classes
        problem = " ".join(str(error).split())[:300]
        raise UsageError(f"cannot read the vocabulary {path}: `transformers` says: {problem}") from error
    tokenizer = getattr(loaded, "backend_tokenizer", None)
    if tokenizer is None:
        raise UsageError(
            f"the vocabulary {path} is of {type(loaded).__name__}, which has no form of `tokenizers`: ids would be slow"
        )
    named = {
        key: str(token) for key, token in loaded.special_tokens_map.items() if isinstance(token, str) and key.endswith("_token")
    }
    return tokenizer.to_str(), named
