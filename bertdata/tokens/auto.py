"""Read directories that only `transformers` can read: turn what AutoTokenizer makes of them into the form of `tokenizers`.

This is done once, in the process that begins a run, and without a network; workers get the other form.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError
from ..extras import missing_package

__all__ = ["read_directory"]


def read_directory(path: Path) -> tuple[str, dict[str, str]]:
    """Return the tokenizer.json of a directory, and its special tokens by keys such as ``cls_token``.

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
