"""Members of an archive, and the rules for their names."""

from __future__ import annotations

from typing import NamedTuple

from ...records import FileRange, Reject

__all__ = ["Member", "Wanted", "member_name", "refuse_name"]


class Member(NamedTuple):
    """A file in an archive: its name, which starts with the archive's name, and its bytes."""

    name: str
    data: bytes


class Wanted(NamedTuple):
    """The members to read: the source prefix of their ids, their suffixes, and the maximum size in bytes."""

    source: str
    suffixes: tuple[str, ...]
    max_bytes: int

    def takes(self, name: str) -> bool:
        """Return True if a member is not hidden and has one of the suffixes."""
        return name.lower().endswith(self.suffixes) and not name.rpartition("/")[2].startswith(".")


def member_name(part: FileRange, name: str) -> str:
    """Return a member's full name: the archive's name and the path inside it.

    >>> member_name(FileRange("books.zip", "", 0, 0), "./a//b.txt")
    'books.zip/a/b.txt'
    """
    return "/".join([part.name, *_steps(name)])


def refuse_name(name: str, is_directory: bool, id: str, where: str) -> Reject | None:
    """Reject an empty name or a name that points outside the archive. The archive's own root directory is allowed."""
    steps = _steps(name)
    if is_directory and not steps:
        return None
    if name.startswith("/") or ".." in steps or "\\" in name or not steps:
        return Reject(id, "unsafe-name", f"{where} leads out of the archive")
    return None


def _steps(name: str) -> list[str]:
    return [step for step in name.split("/") if step not in ("", ".")]
