"""Read archives of texts and books, tar and zip, member by member, without writing anything to disk."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Drop, FileRange, Reject
from .. import ARCHIVES
from . import tar_files, zip_files
from .member import Member, Wanted

__all__ = ["Member", "Wanted", "cut", "is_archive", "read_archive"]


def is_archive(name: str) -> bool:
    """Return True if a file's name has an archive's suffix."""
    return name.lower().endswith(ARCHIVES)


def cut(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut an archive of `size` bytes into ranges of about `target` bytes, each starting at the beginning of a member.

    A compressed tar file is one range.
    """
    return zip_files.cut(path, size, target) if path.lower().endswith(".zip") else tar_files.cut(path, size, target)


def read_archive(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read the wanted members of a range that `cut` returned."""
    return zip_files.read_zip(part, wanted) if part.name.lower().endswith(".zip") else tar_files.read_tar(part, wanted)
