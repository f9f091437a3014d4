"""Read an export as the trainer that it is for does, with that trainer's own code, and print each row as a line of JSON.

    .venv-readers/bin/python tests/readers/read.py mds DIR

It runs in the environment of requirements.txt beside it, which `make nightly` makes, and imports nothing of bertdata's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

Rows = Iterator[dict[str, Any]]


def _streaming() -> Any:
    """Import mosaicml-streaming without its pictures, which want torchvision: on a CPU's torch that of PyPI does not load."""
    sys.modules["streaming.vision"] = ModuleType("streaming.vision")
    import streaming

    return streaming


def _sample(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in sample.items()}


def mds(directory: Path) -> Rows:
    """Row by row by its number, as ModernBERT does where `streaming` is false."""
    found = _streaming().LocalDataset(str(directory / "data"))
    return (_sample(found[row]) for row in range(len(found)))


def mds_streaming(directory: Path) -> Rows:
    """As a stream, on one node and without shuffling."""
    streaming = _streaming()
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(local=str(directory / "data"), batch_size=1, num_canonical_nodes=1, shuffle=False)
    return map(_sample, found)


def megatron(directory: Path) -> Rows:
    """The ids of each document's sentences."""
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    for path in sorted((directory / "data").glob("*.idx")):
        found = IndexedDataset(str(path.with_suffix("")))
        bounds = found.document_indices.tolist()
        for first, last in zip(bounds, bounds[1:], strict=False):
            yield {"sentences": [found[sentence].tolist() for sentence in range(first, last)], "dtype": found[first].dtype.name}


def tfrecord(directory: Path) -> Rows:
    """The features of each example."""
    from tfrecord import tfrecord_loader

    for path in sorted((directory / "data").glob("*.tfrecord")):
        yield from map(_sample, tfrecord_loader(str(path), None))


READERS = {read.__name__: read for read in (mds, mds_streaming, megatron, tfrecord)}

if __name__ == "__main__":
    name, where = sys.argv[1:]
    for row in READERS[name](Path(where)):
        print(json.dumps(row))
