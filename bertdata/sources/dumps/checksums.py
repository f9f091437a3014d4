"""Check a dump against the checksums that its publisher puts beside it: ``…-md5sums.txt``, ``sha1sums`` and their like."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import VerificationError
from ...files import digest, place

__all__ = ["check", "published"]

_ALGORITHMS = ("sha512", "sha256", "sha1", "md5")  # the strongest that names the file counts
_SUMS = re.compile(rf"(?:.*[-_.])?({'|'.join(_ALGORITHMS)})sums?(?:\.txt)?", re.IGNORECASE)
_LINE = re.compile(r"([0-9a-fA-F]{32,128})[ \t]+\*?(?:\./)?(.+)")  # as md5sum(1) writes it; * is for binary
_MOST = 16 << 20  # bytes; the file of sums of a whole dump has a few kilobytes


def published(path: str) -> str:
    """Return the checksum that a file in the same directory gives for this one, as ``md5:9e10…``; nothing if none does."""
    found: dict[str, str] = {}
    for sums in sorted(place(path).parent.iterdir(), key=lambda beside: beside.name):
        if (kind := _SUMS.fullmatch(sums.name)) and sums.is_file() and sums.stat().st_size <= _MOST:
            algorithm = kind.group(1).lower()
            for line in sums.read_text(encoding="utf-8-sig", errors="replace").splitlines():
                if (entry := _LINE.fullmatch(line.strip())) and entry.group(2) == Path(path).name:
                    found[algorithm] = entry.group(1).lower()
    return next((f"{algorithm}:{found[algorithm]}" for algorithm in _ALGORITHMS if algorithm in found), "")


def check(path: str, checksum: str) -> None:
    """Hash a file; raise VerificationError unless it has this checksum, which is one that `published` returned."""
    algorithm, _, expected = checksum.partition(":")
    found = digest(path, algorithm=algorithm)
    if found != expected:
        raise VerificationError(
            f"{path} is not what was published: its {algorithm} is {found}, the file of {algorithm} sums beside it "
            f"says {expected}: fetch it again, or take what there is by moving the file of sums away"
        )
