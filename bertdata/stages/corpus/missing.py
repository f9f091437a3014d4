"""Compare the pages read from a multistream dump with the pages listed in its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...config.input_kinds import PROJECTS
from ...errors import VerificationError
from ...sources.dumps import LOSSES
from .sources import INDEX

__all__ = ["REASON", "find", "pages_in"]

REASON = "missing-page"


def find(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a reject for each dump that lacks pages of its index. Its `pages` field is the number of missing pages,
    `source` that of the dump.

    `entries` are the stored parts of the reports of tasks that read dumps or indexes. Raise VerificationError if an index cannot
    belong to the dump, because it lists too few pages or different streams.
    """
    indexes = [entry for entry in entries if entry["kind"] == INDEX]
    pages, lost, sources = Counter[str](), Counter[str](), dict[str, str]()
    for entry in entries if indexes else ():
        if entry["kind"] in PROJECTS:
            sources[entry["inputs"][0]["name"]] = entry["kind"]
            pages[entry["inputs"][0]["name"]] += entry["pages"]
            lost[entry["inputs"][0]["name"]] += entry["lost"]
    rejects: list[dict[str, Any]] = []
    for entry in indexes:
        name, index = entry["name"], entry["index"]
        seen, damaged = pages[name], lost[name] > 0
        # An index of another dump shows itself in two ways: it lists fewer pages than were read, or
        # streams at offsets where none begins. In a damaged dump the second one proves nothing.
        if seen > index["pages"] or (index["astray"] and not damaged):
            wrong = f"{index['astray']} of them in streams that are not there" if index["astray"] else f"the dump has {seen}"
            raise VerificationError(
                f"the index next to {name} is not of this dump: it names {index['pages']} pages, {wrong}: fetch both again, or "
                "move the index away and run the same command again"
            )
        if lacking := index["pages"] - seen:
            end = f"; {index['beyond']} in streams from byte {index['first_beyond']} on, where it ends" if index["beyond"] else ""
            where = f"{lacking} of the {index['pages']} pages that the index of {name} names{end}"
            rejects.append({"id": name, "reason": REASON, "where": where, "pages": lacking, "source": sources.get(name, "")})
    return rejects


def pages_in(tally: dict[str, Any]) -> int:
    """Return the number of pages that a task read."""
    entered: int = tally["in"]
    losses: int = sum(count for reason, count in tally["rejected"].items() if reason in LOSSES)
    return entered - losses
