"""Compare the pages that a multistream dump gave with those that its index names."""

from __future__ import annotations

from typing import Any

from ...errors import VerificationError
from ...sources.dumps import LOSSES

__all__ = ["REASON", "find"]

REASON = "missing-page"


def find(indexes: list[dict[str, Any]], reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a reject for each dump that lacks pages of its index; it tells how many `pages`.

    `indexes` are the reports of tasks that read an index, `reports` those of tasks that read dumps.
    Raise VerificationError for an index that can't be of this dump: it names too few pages, or other streams.
    """
    rejects: list[dict[str, Any]] = []
    for report in indexes:
        name, index = report["name"], report["index"]
        of_file = [each for each in reports if each["kind"] == "wikipedia" and each["inputs"][0]["name"] == name]
        seen = sum(_pages(each["tally"]) for each in of_file)
        damaged = any(each["lost"] for each in of_file)
        if seen > index["pages"] or (index["astray"] and not damaged):
            wrong = f"{index['astray']} of them in streams that are not there" if index["astray"] else f"the dump has {seen}"
            raise VerificationError(
                f"the index beside {name} is not of this dump: it names {index['pages']} pages, {wrong}: fetch both again, or "
                "move the index away and run the same command again"
            )
        if lacking := index["pages"] - seen:
            end = f"; {index['beyond']} in streams from byte {index['first_beyond']} on, where it ends" if index["beyond"] else ""
            where = f"{lacking} of the {index['pages']} pages that the index of {name} names{end}"
            rejects.append({"id": name, "reason": REASON, "where": where, "pages": lacking})
    return rejects


def _pages(tally: dict[str, Any]) -> int:
    """Count the pages among what a task read."""
    entered: int = tally["in"]
    losses: int = sum(count for reason, count in tally["rejected"].items() if reason in LOSSES)
    return entered - losses
