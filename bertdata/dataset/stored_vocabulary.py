"""Read the vocabulary stored with a dataset."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from ..errors import VerificationError
from ..pieces import Special, of_tokenizer
from ..storage.problems import storage_errors
from .manifest_types import PairsManifest, VocabManifest

_REMAKE_ADVICE = "build the dataset again with `overwrite`"
# What foreign JSON of a wrong shape raises; errors of msgspec are ValueErrors.
_MALFORMED = ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, MemoryError


def read_vocabulary(directory: Path, contents: PairsManifest | VocabManifest) -> tuple[list[str], Special]:
    """Return the tokens by id, and the special tokens, of a dataset whose manifest has these contents.

    Raise VerificationError if a file differs from the manifest, or rows cannot be read with it.
    """
    files: dict[str, bytes] = {}
    for file in contents.files:
        path = directory / file.name
        with storage_errors(f"cannot read {path}"):
            files[file.name] = path.read_bytes()
        if hashlib.sha256(files[file.name]).hexdigest() != file.sha256:
            raise VerificationError(f"{path} differs from its manifest (SHA-256): {_REMAKE_ADVICE}")
    try:
        # In half the time of `json`, because each reader of rows and each of its workers waits for this.
        parsed = (msgspec.json.decode(files[name]) for name in ("tokenizer.json", "tokenizer_config.json"))
        tokens, special = of_tokenizer(*parsed)
    except _MALFORMED as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
        raise VerificationError(f"the vocabulary in {directory} {problem}: {_REMAKE_ADVICE}") from error
    if len(tokens) != (expected := contents.size if isinstance(contents, VocabManifest) else contents.vocab_size):
        problem = f"has {len(tokens):,} tokens, but {expected:,} in the manifest"
        raise VerificationError(f"the vocabulary in {directory} {problem}: {_REMAKE_ADVICE}")
    return tokens, special
