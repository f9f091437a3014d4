"""Check a dump against the checksums that its publisher puts beside it: ``…-md5sums.txt``, ``sha1sums`` and their like."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ...errors import VerificationError
from ...io.files import open_file, to_path
from ...records import FileRange

__all__ = ["check", "is_sums", "published"]

_ALGORITHMS = ("sha512", "sha256", "sha1", "md5")  # the strongest that names the file counts
_SUMS = re.compile(rf"(?:.*[-_.])?({'|'.join(_ALGORITHMS)})sums?(?:\.txt)?", re.IGNORECASE)
_LINE = re.compile(r"([0-9a-fA-F]{32,128})[ \t]+(?![ \t])\*?(?:\./)?(.+)")  # as md5sum(1) writes it; * is for binary
_BLOCK = 1 << 20  # bytes read at a time
_MOST = 16 << 20  # bytes; the file of sums of a whole dump has a few kilobytes


def is_sums(name: str) -> bool:
    """Return True for the name of a file of checksums."""
    return _SUMS.fullmatch(name) is not None


def published(path: str) -> str:
    """Return the checksum that a file in the same directory gives for this one, as ``md5:9e10…``; nothing if none does."""
    checksums: dict[str, str] = {}
    for sums in sorted(to_path(path).parent.iterdir(), key=lambda beside: beside.name):
        if (kind := _SUMS.fullmatch(sums.name)) and sums.is_file() and sums.stat().st_size <= _MOST:
            algorithm = kind.group(1).lower()
            for line in sums.read_text(encoding="utf-8-sig", errors="replace").splitlines():
                if (entry := _LINE.fullmatch(line.strip())) and entry.group(2) == Path(path).name:
                    checksums[algorithm] = entry.group(1).lower()
    return next((f"{algorithm}:{checksums[algorithm]}" for algorithm in _ALGORITHMS if algorithm in checksums), "")


def check(parts: list[FileRange], checksum: str) -> list[str]:
    """Hash a file, which these parts cover; raise VerificationError unless it has this checksum, one that `published` returned.

    Return the SHA-256 of each part, so that whoever reads a part can tell whether these were the bytes.
    """
    algorithm, _, expected = checksum.partition(":")
    path, whole = parts[0].path, hashlib.new(algorithm, usedforsecurity=False)
    digests = []
    with open_file(path) as file:
        for part in parts:
            digest, left = hashlib.sha256(usedforsecurity=False), part.end - part.start
            while left and (block := file.read(min(_BLOCK, left))):
                whole.update(block)
                digest.update(block)
                left -= len(block)
            digests.append(digest.hexdigest())
        while block := file.read(_BLOCK):  # it has grown
            whole.update(block)
    if (actual := whole.hexdigest()) != expected:
        raise VerificationError(
            f"{path} is not what was published: its {algorithm} is {actual}, the file of {algorithm} sums beside it "
            f"says {expected}: fetch it again, or take what there is by moving the file of sums away"
        )
    return digests
