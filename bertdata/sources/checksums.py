"""Verify a dump with the checksum files that its publisher puts next to it: ``…-md5sums.txt``, ``sha1sums`` and similar."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ..errors import VerificationError
from ..records import FileRange
from ..storage.files import open_file, to_path

_ALGORITHMS = ("sha512", "sha256", "sha1", "md5")  # the strongest one that lists the file is used
_SUMS = re.compile(rf"(?:.*[-_.])?({'|'.join(_ALGORITHMS)})sums?(?:\.txt)?", re.IGNORECASE)
_LINE = re.compile(r"([0-9a-fA-F]{32,128})[ \t]+(?![ \t])\*?(?:\./)?(.+)")  # format of md5sum(1); * means binary
_BLOCK_BYTES = 1 << 20  # bytes read at a time
_MAX_SUMS_BYTES = 16 << 20  # bytes; the checksum file of a full dump has a few kilobytes


def is_sums(name: str) -> bool:
    """Return True if a file is named like a checksum file."""
    return _SUMS.fullmatch(name) is not None


def published(path: str) -> str:
    """Return this file's checksum from a checksum file in the same directory, as ``md5:9e10…``; "" if it is not listed."""
    checksums: dict[str, str] = {}
    for sums in sorted(to_path(path).parent.iterdir(), key=lambda beside: beside.name):
        if (kind := _SUMS.fullmatch(sums.name)) and sums.is_file() and sums.stat().st_size <= _MAX_SUMS_BYTES:
            algorithm = kind.group(1).lower()
            for line in sums.read_text(encoding="utf-8-sig", errors="replace").splitlines():
                if (entry := _LINE.fullmatch(line.strip())) and entry.group(2) == Path(path).name:
                    checksums[algorithm] = entry.group(1).lower()
    return next((f"{algorithm}:{checksums[algorithm]}" for algorithm in _ALGORITHMS if algorithm in checksums), "")


def check(parts: list[FileRange], checksum: str) -> list[str]:
    """Hash a file, which these ranges cover; raise VerificationError if it does not match a checksum from `published`.

    Return the SHA-256 of each range, so that a task can verify that it reads the same bytes.
    """
    algorithm, _, expected = checksum.partition(":")
    path, hasher = parts[0].path, hashlib.new(algorithm, usedforsecurity=False)
    digests = []
    with open_file(path) as file:
        for part in parts:
            digest, left = hashlib.sha256(usedforsecurity=False), part.end - part.start
            while left and (block := file.read(min(_BLOCK_BYTES, left))):
                hasher.update(block)
                digest.update(block)
                left -= len(block)
            digests.append(digest.hexdigest())
        while block := file.read(_BLOCK_BYTES):  # the file has grown
            hasher.update(block)
    if (actual := hasher.hexdigest()) != expected:
        raise VerificationError(
            f"{path} does not match its checksum file: its {algorithm} is {actual}, but its {algorithm} checksum file "
            f"says {expected}: fetch it again, or move the checksum file away to accept it"
        )
    return digests
