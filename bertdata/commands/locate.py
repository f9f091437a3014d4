"""Find a document in several datasets: a corpus, and the vocabularies, rows and exports that were made from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..dataset import manifest
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, VocabManifest
from ..errors import UsageError
from ..reports.select import select
from ..reports.summary import count
from ..reports.trace import explain

__all__ = ["locate"]

_MAX_SHOWN = 12  # rows and files that are listed; the others are counted
_ORDER = (CorpusManifest, VocabManifest, PairsManifest, ExportManifest)  # a dataset after those that it is made from


def locate(directories: Sequence[Path], id: str) -> Iterator[str]:
    """Yield lines that say for each dataset whether it contains a document, and where.

    A corpus, and rows with document ids, are searched. Other datasets list the digests of the shards that they were made from,
    so they may contain the document if one of these shards does. If none of `directories` has a shard with such a digest, the
    dataset was made from another corpus, or from an older version of it.
    """
    contents = sorted(((path, manifest.read(path)) for path in directories), key=lambda each: _ORDER.index(type(each[1])))
    digests = {shard.sha256 for _, dataset in contents for shard in dataset.shards}
    suspects: set[str] = set()  # digests of the shards that contain the document, or may contain it
    for path, dataset in contents:
        numbers, noun = None, "document" if isinstance(dataset, CorpusManifest) else "row"
        if isinstance(dataset, CorpusManifest) or (isinstance(dataset, PairsManifest) and dataset.settings.provenance):
            numbers = list(select(path, dataset, {"id": id}))
        if numbers:
            suspects |= _shards_of(dataset, numbers)
            yield f"{path}: {count(len(numbers), noun)} with this id: {_listed(map(str, numbers))}"
        elif numbers is not None:
            yield f"{path}: no {noun} with this id"
            yield from (f"  {line}" for line in _why(path, dataset, id))
        else:
            yield f"{path}: {_by_inputs(path, dataset, id, suspects, digests)}"


def _shards_of(dataset: Manifest, numbers: list[int]) -> set[str]:
    """Return the digests of the shards that have these rows."""
    matching, first = set(), 0
    for shard in dataset.shards:
        if any(first <= number < first + shard.rows for number in numbers):
            matching.add(shard.sha256)
        first += shard.rows
    return matching


def _by_inputs(path: Path, dataset: Manifest, id: str, suspects: set[str], digests: set[str]) -> str:
    """Return whether a dataset may contain the document, by its inputs. If so, add the digests of its shards to `suspects`."""
    inputs = {getattr(entry, "sha256", ""): entry.name for entry in dataset.inputs}
    names = [name for sha256, name in inputs.items() if sha256 in suspects]
    if not names and inputs.keys() <= digests:
        return "does not contain it"
    if not names:
        return "made from another dataset, or from an older version. List that dataset too, or build this one again"
    if isinstance(dataset, VocabManifest):
        return f"made from {_listed(names)}, which contain it. Its words count in the vocabulary"
    stems = tuple(f"{name.rpartition('.')[0]}{mark}" for name in names for mark in "._")
    files = [shard for shard in dataset.shards if shard.name.startswith(stems)] if isinstance(dataset, ExportManifest) else []
    suspects |= {shard.sha256 for shard in files or dataset.shards}
    if isinstance(dataset, ExportManifest):
        return f"may contain it, in {_listed(file.name for file in files) if files else f'{path}/data'}"
    return (
        f"made from {_listed(names)}, which contain it. The rows have no document ids. Find them by their text: "
        f"bertdata trace CORPUS {id} --pairs {path}"
    )


def _why(path: Path, dataset: Manifest, id: str) -> Iterator[str]:
    """Yield the reason why a corpus has no document of an id, if it is known."""
    if isinstance(dataset, CorpusManifest):
        try:
            yield from explain(path, dataset, id)
        except UsageError:
            return


def _listed(names: Iterator[str] | Sequence[str]) -> str:
    shown = [*names]
    more = f" and {len(shown) - _MAX_SHOWN:,} more" if len(shown) > _MAX_SHOWN else ""
    return ", ".join(shown[:_MAX_SHOWN]) + more
