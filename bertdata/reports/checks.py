"""Check rows and documents before they are shown or measured, by the rules of `bertdata verify`.

The digests of a stranger's shard can be valid, but its values may be ones that no command writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..dataset.manifest_types import CorpusManifest, ReadableManifest
from ..dataset.shards import DOCUMENT
from ..errors import VerificationError
from ..tokens.vocab import Vocabulary
from ..verification import batches, documents, pairs
from ..verification.directory import CheckFailed
from ..verification.row_checks import SpecialPieces

__all__ = ["check_rows"]


def check_rows(
    directory: Path,
    rows: Iterable[tuple[int, pa.RecordBatch]],
    manifest: ReadableManifest,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Raise VerificationError for the first document or row that breaks a rule.

    `rows` are record batches, each with the number of its first row. `vocabulary` is the one in the directory of rows.
    """
    special = _special(vocabulary) if vocabulary else None
    try:
        for first, batch in rows:
            if isinstance(manifest, CorpusManifest):
                batches.check_schema(batch.schema, DOCUMENT)
                batches.check(batch)
                if batch.num_rows:
                    documents.check_batch(batch, first, manifest.settings.language)
            elif special:
                batches.check_schema(batch.schema, pairs.schema_of(manifest.settings, special, len(manifest.origins or ())))
                batches.check(batch)
                for part in pairs.parts(batch):
                    pairs.check_part(part, first, manifest.settings, special)
                    first += part.num_rows
    except (CheckFailed, pa.ArrowException) as error:
        problem = " ".join(str(error).split())
        raise VerificationError(f"{directory}: {problem}. Build the dataset again, or get it from its author again.") from None


def _special(vocabulary: Vocabulary) -> SpecialPieces:
    """Return the ids that the rules need. Rules about words and scripts always hold: `verify` checks them."""
    special, size = vocabulary.special, len(vocabulary.pieces)
    never = np.isin(np.arange(size), list(special.never))
    return SpecialPieces(special.cls, special.sep, special.mask, never, np.zeros(size, bool), np.zeros((size, 2), np.int64))
