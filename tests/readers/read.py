"""Read an export as the trainer that it is for does, with that trainer's own code, and print each row as a line of JSON.

    .venv-readers/bin/python tests/readers/read.py mds DIR

It runs in the environment of requirements.txt beside it, which `make long` makes, and imports nothing of bertdata's; `jsonl` and
`parquet` are read by `datasets`, which bertdata's own environment has.
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


def hdf5(directory: Path) -> Rows:
    """The arrays, row by row."""
    import h5py

    for path in sorted((directory / "data").glob("*.hdf5")):
        with h5py.File(path) as file:
            arrays = {name: file[name][:].tolist() for name in file}
        yield from (dict(zip(arrays, values, strict=True)) for values in zip(*arrays.values(), strict=True))


def lddl(directory: Path) -> Rows:
    """What LDDL's loader makes of each pair, file by file: the loader itself shuffles them."""
    import pyarrow.parquet as pq
    import transformers
    from lddl.torch.bert import _decode_record_batch, _to_encoded_inputs
    from lddl.utils import get_all_parquets_under

    tokenizer = transformers.BertTokenizerFast(str(directory / "vocab.txt"))
    paths = get_all_parquets_under(str(directory / "data"))
    for path in sorted(paths, key=lambda path: int(Path(path).stem.rpartition("-")[2])):
        for batch in pq.read_table(path).to_batches():
            for pair in _decode_record_batch(batch):
                made = _to_encoded_inputs([pair], tokenizer)
                yield {name: values[0].tolist() for name, values in made.items()}


def _texts(kind: str, directory: Path, suffix: str) -> Rows:
    from datasets import load_dataset

    paths = [str(path) for path in sorted((directory / "data").glob(f"*.{suffix}"))]
    yield from load_dataset(kind, data_files=paths, split="train", cache_dir=str(directory.parent / f"cache-{suffix}"))


def jsonl(directory: Path) -> Rows:
    """The texts, by `datasets`."""
    return _texts("json", directory, "jsonl")


def parquet(directory: Path) -> Rows:
    """The texts, by `datasets`."""
    return _texts("parquet", directory, "parquet")


READERS = {read.__name__: read for read in (mds, mds_streaming, megatron, tfrecord, hdf5, lddl, jsonl, parquet)}

if __name__ == "__main__":
    name, where = sys.argv[1:]
    for row in READERS[name](Path(where)):
        print(json.dumps(row))
