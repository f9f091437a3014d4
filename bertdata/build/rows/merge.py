"""The step between two levels of buckets: what some tasks have for a group of buckets is put into one file, by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..levels import Levels
from .buckets import Layout, Ref, Tokens, gather, references, spill_name, write_spill

__all__ = ["Merge"]


class Merge:
    """Merge what some tasks have for a group of buckets into one file, by bucket; yield a reference for each bucket."""

    def __init__(self, root: str, layout: Layout, levels: Levels) -> None:
        self._root, self._layout, self._levels = root, layout, levels

    def key(self, item: tuple[int, Ref]) -> tuple[int, Ref]:
        """Put a task's reference for a group under the number of the merged file that its documents go to."""
        group, ref = item
        return self._levels.merged(ref[0], group), ref

    def __call__(self, item: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, refs = item
        by_bucket: dict[int, list[Tokens]] = {}
        if number < self._levels.groups:  # of the first tasks: so that each bucket exists
            wanted = (b for b in range(self._levels.buckets) if self._levels.group(b) == number)
            by_bucket = {bucket: [] for bucket in wanted}
        for document in sorted(gather(self._root, refs), key=lambda document: (document.task, document.row)):
            by_bucket.setdefault(self._layout.bucket(document.id, document.origin), []).append(document)
        yield from references(number, write_spill(self._root, spill_name(number, merged=True), by_bucket))
