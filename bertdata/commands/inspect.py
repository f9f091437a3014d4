"""Read examples of a dataset."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ..dataset import manifest
from ..dataset.manifest import steady
from ..dataset.manifest_types import CorpusManifest, Manifest, ReadableManifest
from ..errors import UsageError
from ..pieces import join
from ..reports import examples
from ..reports.select import longest, records, select
from ..storage.files import to_path
from ..storage.problems import storage_errors
from ..tokens.read import read_any
from ..tokens.vocab import Vocabulary

Order = Literal["spread", "random", "longest"]


@storage_errors()
def inspect(
    directory: str | Path,
    *,
    n: int = 5,
    row: int | None = None,
    order: Order = "spread",
    language: str = "",
    title: str = "",
    id: str = "",
    search: str = "",
    reason: str = "",
) -> list[dict[str, Any]]:
    """Return examples of a corpus or of rows, or records that a corpus dropped or rejected.

    Args:
        directory: Output of `build_corpus` or `make_pairs`.
        n: Maximum number of examples.
        row: Return only the document or row of this number.
        order: Which examples, if you do not search: ``spread`` evenly over the dataset, ``random``, or the ``longest``.
        language: Only documents in this language.
        title: Only documents with these words in the title.
        id: Only the document with this id, or rows of it.
        search: Only documents or rows that contain this text.
        reason: Return dropped and rejected records of this reason instead, with ``id`` and ``reason``.

    Returns:
        A dict per example: its number as ``row``, and the stored columns. Rows also have their decoded ``text``.

    Raises:
        UsageError: `directory` has no rows, or not the row, column or reason that you ask for. Some drops, such as redirects,
            are counted but not listed.
        NoInputError, VerificationError: The dataset is missing or damaged.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> [example["language"] for example in inspect(corpus.path, n=2)]
        ['en', 'zh']
    """
    path = to_path(str(directory))
    with steady(path):
        contents = manifest.read(path)
        manifest.check_files(path, contents.listed)
        if not isinstance(contents, ReadableManifest):
            raise UsageError(f"{path} contains {contents.what}. Pass a corpus or rows")
        if reason:
            return list(islice(_listed(path, contents, reason), n))
        wanted = {"language": language, "title": title, "id": id, "search": search}
        if row is not None and any(wanted.values()):
            name = next(name for name, value in wanted.items() if value)
            raise UsageError(f"`row` and `{name}` cannot be combined. Use one of them", field="row", value=row)
        if row is not None:
            numbers: Iterable[int] = [row]
        else:
            numbers = islice(select(path, contents, wanted), n) if any(wanted.values()) else _choose(path, contents, n, order)
        vocabulary = None if isinstance(contents, CorpusManifest) else read_any(path)
        return [{"row": number, **_example(path, contents, number, vocabulary)} for number in numbers]


def _choose(directory: Path, contents: ReadableManifest, count: int, order: Order) -> list[int]:
    """Return the numbers of the examples to show, in ascending order; for the longest, in descending order of length."""
    if order == "longest":
        return longest(directory, contents, count)
    if order == "random":
        return sorted(random.sample(range(contents.rows), min(count, contents.rows)))
    return examples.pick(contents.rows, count)


def _example(directory: Path, contents: ReadableManifest, number: int, vocabulary: Vocabulary | None) -> dict[str, Any]:
    values = examples.row(directory, contents, number, vocabulary)
    if vocabulary is None:
        return values
    pieces, special = vocabulary.pieces, vocabulary.special
    text = join([pieces[i] for i in values["input_ids"]], special.mark, {pieces[i] for i in special.never})
    return {**values, "text": text}


def _listed(directory: Path, contents: Manifest, reason: str) -> Iterator[dict[str, Any]]:
    """Yield the dropped and rejected records of a reason. Raise UsageError, with the corpus' reasons, for another one."""
    if not isinstance(contents, CorpusManifest):
        raise UsageError(f"`reason`: {directory} contains {contents.what}. Pass a corpus, which lists drops", field="reason")
    reasons = sorted({name for stage in contents.counts for name in (*stage.dropped, *stage.rejected)})
    if reason not in reasons:
        known = ", ".join(reasons) or "no dropped or rejected records"
        raise UsageError(f"`reason` {reason}: no record has this reason. {directory} has {known}", field="reason", value=reason)
    found = False
    for file in (*contents.drops, *contents.rejects):
        for record in records(directory / file.name):
            if record["reason"] == reason:
                found = True
                yield record
    if not found:
        raise UsageError(f"`reason` {reason}: such records are counted but not listed", field="reason", value=reason)
