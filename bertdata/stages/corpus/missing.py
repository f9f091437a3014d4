"""Compare the pages read from a multistream dump with the pages listed in its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ...config.input_kinds import PROJECTS
from ...errors import VerificationError
from ..corpus_report import TaskEntry

__all__ = ["REASON", "MissingPages", "find"]

REASON = "missing-page"


class MissingPages(NamedTuple):
    """The pages that a dump lacks: the dump and its source, where they are missing, and their number."""

    dump: str
    source: str
    where: str
    pages: int


def find(entries: Iterable[TaskEntry]) -> list[MissingPages]:
    """Return the missing pages of each dump that lacks pages of its index.

    Raise VerificationError if an index cannot belong to the dump, because it lists too few pages or different streams.
    """
    indexes = [(entry.dump, entry.index) for entry in entries if entry.index is not None]
    pages, lost, sources = Counter[str](), Counter[str](), dict[str, str]()
    for entry in entries if indexes else ():
        if entry.kind in PROJECTS:
            sources[entry.inputs[0].name] = entry.kind
            pages[entry.inputs[0].name] += entry.pages
            lost[entry.inputs[0].name] += entry.lost
    found: list[MissingPages] = []
    for name, index in indexes:
        seen, damaged = pages[name], lost[name] > 0
        # An index of another dump shows itself in two ways: it lists fewer pages than were read, or
        # streams at offsets where none begins. In a damaged dump the second one proves nothing.
        if seen > index.pages or (index.astray and not damaged):
            wrong = f"{index.astray} of them in streams that the dump lacks" if index.astray else f"the dump has {seen}"
            raise VerificationError(
                f"the index next to {name} is not of this dump: it lists {index.pages} pages, {wrong}. Download both again, or "
                "move the index away and run the same command again"
            )
        if lacking := index.pages - seen:
            end = f"; {index.beyond} in streams from byte {index.first_beyond} on, where it ends" if index.beyond else ""
            where = f"{lacking} of the {index.pages} pages that the index of {name} names{end}"
            found.append(MissingPages(name, sources.get(name, ""), where, lacking))
    return found
