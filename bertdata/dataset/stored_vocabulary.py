"""Read the vocabulary stored with a dataset."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..errors import VerificationError
from ..pieces import Special, of_tokenizer
from ..storage.storage import storage_errors
from .manifest_types import PairsManifest, VocabManifest


def read_vocabulary(directory: Path, contents: PairsManifest | VocabManifest) -> tuple[list[str], Special]:
    """Return the tokens by id, and the special tokens, of a dataset whose manifest has these contents.

    Raise VerificationError if a file differs from the manifest, or rows cannot be read with it.
    """
    files = {file.name: _checked_bytes(directory / file.name, file.sha256) for file in contents.files}
    try:
        tokens, special = of_tokenizer(*(json.loads(files[name]) for name in ("tokenizer.json", "tokenizer_config.json")))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, MemoryError) as error:
        raise _unusable(directory, f"cannot be read ({type(error).__name__}: {error})") from error
    if len(tokens) != contents.pieces:
        raise _unusable(directory, f"has {len(tokens):,} tokens, but {contents.pieces:,} in the manifest")
    return tokens, special


def _checked_bytes(path: Path, sha256: str) -> bytes:
    """Return the bytes of a file. Raise VerificationError if they differ from the manifest."""
    with storage_errors(f"cannot read {path}"):
        data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise VerificationError(f"{path} differs from its manifest (SHA-256): build the dataset again with `overwrite`")
    return data


def _unusable(directory: Path, problem: str) -> VerificationError:
    return VerificationError(f"{directory}: the vocabulary {problem}: build the dataset again with `overwrite`")
