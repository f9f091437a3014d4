"""Check rows and documents before they are shown or measured, by the rules of `bertdata verify`.

The digests of a stranger's shard can be valid, but its values may be ones that no command writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from ..dataset.manifest_types import CorpusManifest, ReadableManifest
from ..dataset.shards import DOCUMENT
from ..errors import VerificationError
from ..tokens.vocab import Vocabulary
from ..verification import documents
from ..verification.files import CheckFailed, check_batch
from ..verification.rows import RowRules


def check_rows(
    directory: Path,
    rows: Iterable[tuple[int, pa.RecordBatch]],
    manifest: ReadableManifest,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Raise VerificationError for the first document or row that breaks a rule.

    `rows` are record batches, each with the number of its first row. `vocabulary` is the one in the directory of rows.
    """
    try:
        for first, batch in rows:
            if isinstance(manifest, CorpusManifest):
                check_batch(batch, DOCUMENT)
                documents.check_rows(batch, first, manifest.settings)
            elif vocabulary:
                rules = RowRules.of(manifest, vocabulary.special)
                check_batch(batch, rules.schema)
                rules.check_rows(batch, first)
    except (CheckFailed, pa.ArrowException) as error:
        problem = " ".join(str(error).split())
        raise VerificationError(f"{directory}: {problem}. Build the dataset again, or get it from its author again.") from None
