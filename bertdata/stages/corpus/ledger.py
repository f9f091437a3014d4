"""Account for a task's records: collect documents into record batches, and write rejects and drops to lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...dataset.shards import DocumentBatch
from ...records import Document, Drop, Reject
from ...tally import Tally
from ..listing import Listing
from ..text_counts import Amounts
from .sources import Counts

if TYPE_CHECKING:
    from ..selection.facts import Facts

__all__ = ["Ledger"]


@dataclass
class Ledger:
    """Count a task's records and route them: documents into batches, rejects and drops into their lists."""

    tally: Tally
    rejects: Listing
    drops: Listing
    most: int = 0
    facts: Facts | None = None
    text_bytes: int = 0
    lost: int = 0
    amounts: Amounts = field(default_factory=Amounts)
    counts: Counts = field(default_factory=Counts.none)

    def batches(self, records: Iterable[Document | Drop | Reject]) -> Iterator[Any]:
        """Yield record batches of documents. There is at least one, which may be empty."""
        batch = DocumentBatch()
        for record in records:
            self.tally.entered += 1
            if isinstance(record, Document):
                self.tally.left += 1
                before = batch.bytes
                batch.add(record)
                if self.facts is not None:
                    self.facts.add(record, batch.bytes - before)
                if batch.is_full:
                    self.text_bytes += batch.bytes
                    yield self.amounts.add(batch.take())
            elif isinstance(record, Drop):
                self.tally.dropped[record.reason] += 1
                if record.id:
                    self.drops.append({"id": record.id, "reason": record.reason, "detail": record.detail})
            else:
                self.tally.rejected[record.reason] += 1
                self.rejects.append({key: value for key, value in record._asdict().items() if value != 0})
                self.lost += record.lost
            if self.tally.left == self.most > 0:
                break
        if batch.rows or not self.text_bytes:
            self.text_bytes += batch.bytes
            yield self.amounts.add(batch.take())
