"""Read the vocabulary stored with the shards, and check that the rows were made with it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..errors import VerificationError
from ..pieces import BERT_TOKENS, Special, of_bert, of_tokenizer
from ..storage.storage import storage_errors
from .manifest_rules import VOCABULARIES
from .manifest_types import PairsManifest

_REMAKE = "build it again with `overwrite`"


def read_vocabulary(path: Path, contents: PairsManifest) -> tuple[list[str], Special]:
    """Return the tokens and special tokens of a directory whose manifest has these contents.

    Raise VerificationError if they differ from the manifest, or rows cannot be read with them.
    """
    if any(file.name == VOCABULARIES[0][0] for file in contents.files):
        pieces = _read_pieces(path / VOCABULARIES[0][0], contents)
        return pieces, of_bert(pieces)
    tokenizer, settings = (json.loads(_checked_bytes(path / name, contents)) for name in VOCABULARIES[1])
    pieces, special = of_tokenizer(tokenizer, settings)
    if len(pieces) != contents.vocab_size:
        raise VerificationError(f"{path / VOCABULARIES[1][0]} has {len(pieces)} pieces, not those of the manifest: {_REMAKE}")
    return pieces, special


def _checked_bytes(path: Path, contents: PairsManifest) -> bytes:
    """Return the bytes of a vocabulary file. Raise VerificationError if they differ from the manifest."""
    with storage_errors(f"cannot read {path}"):
        data = path.read_bytes()
    digests = {file.name: file.sha256 for file in contents.files}
    if hashlib.sha256(data).hexdigest() != digests[path.name]:
        raise VerificationError(f"{path} is not the vocabulary these pairs were made with: {_REMAKE}")
    return data


def _read_pieces(path: Path, contents: PairsManifest) -> list[str]:
    """Read a vocabulary. Raise VerificationError if it differs from the manifest, or rows cannot be read with it."""
    data = _checked_bytes(path, contents)
    try:
        pieces = data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VerificationError(f"{path} is damaged ({error}): {_REMAKE}") from error
    if len(pieces) != contents.vocab_size:
        raise VerificationError(f"{path} is not the vocabulary these pairs were made with: {_REMAKE}")
    if missing := [token for token in BERT_TOKENS.values() if token not in pieces]:
        raise VerificationError(f"{path} lacks {', '.join(missing)}: {_REMAKE}")
    return pieces
