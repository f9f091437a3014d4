"""Check the laws of Megatron's indexed files: lengths, offsets, bounds of documents and the ids' file agree; ids are of text."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckFailed
from ..rows import SpecialPieces

__all__ = ["check"]

_KINDS: dict[int, np.dtype[Any]] = {8: np.dtype("<u2"), 4: np.dtype("<i4")}  # Megatron's codes
_HEADER = struct.Struct("<9sQBQQ")
_TOKENS = 1 << 20  # looked at, at a time


def check(path: Path, index: Path, special: SpecialPieces) -> int:
    """Check the file of ids and the index beside it; return how many documents there are."""
    size = index.stat().st_size
    with open(index, "rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise CheckFailed(f"{index.name} is shorter than a header")
    magic, version, code, sentences, bounds = _HEADER.unpack(head)
    if (magic, version) != (b"MMIDIDX\0\0", 1) or code not in _KINDS:
        raise CheckFailed(f"{index.name} is no index of Megatron's, version 1, of two or four bytes an id")
    if size != _HEADER.size + 12 * sentences + 8 * bounds or not bounds:
        raise CheckFailed(f"{index.name} tells of {sentences:,} sentences, which {size:,} bytes do not hold")
    parts = (("<i4", sentences), ("<i8", sentences), ("<i8", bounds))
    starts = np.cumsum([_HEADER.size, *(np.dtype(kind).itemsize * count for kind, count in parts)]).tolist()
    if not sentences:
        raise CheckFailed(f"{index.name} has no sentence")
    lengths, offsets, documents = (
        np.memmap(index, kind, "r", at, (count,)) for (kind, count), at in zip(parts, starts, strict=False)
    )
    kind = _KINDS[code]
    if (code == 8) != (len(special.never) < 65500):
        raise CheckFailed(f"{index.name} has ids of {kind.itemsize} bytes, for a vocabulary of {len(special.never):,}")
    if (lengths <= 0).any():
        raise CheckFailed(f"{index.name} has an empty sentence")
    if offsets[0] or (np.diff(offsets) != lengths[:-1].astype(np.int64) * kind.itemsize).any():
        raise CheckFailed(f"{index.name} has offsets that are not those of its lengths")
    if int(offsets[-1]) + int(lengths[-1]) * kind.itemsize != path.stat().st_size:
        raise CheckFailed(f"{index.name} does not end where the ids do")
    if documents[0] or documents[-1] != sentences or (np.diff(documents) <= 0).any():
        raise CheckFailed(f"{index.name} has documents that do not rise from its first sentence to its last")
    ids = np.memmap(path, kind, "r")
    for start in range(0, len(ids), _TOKENS):
        part = np.asarray(ids[start : start + _TOKENS], np.int64)
        inside = (part >= 0) & (part < len(special.never))
        if not inside.all():
            raise CheckFailed(f"token {start + int(np.argmin(inside))} is none of the {len(special.never):,} of its vocabulary")
        if (strange := special.never[part]).any():
            raise CheckFailed(f"token {start + int(np.argmax(strange))} is a special one")
    return int(bounds) - 1
