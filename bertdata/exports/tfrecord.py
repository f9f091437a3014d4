"""Write TFRecord files for google-research/bert and the TensorFlow Model Garden: one `tf.train.Example` per pair.

A record is its size as uint64, the masked CRC-32C of the size, the example, and its masked CRC.  An example maps names to lists
of numbers, in Protocol Buffers' wire format.  Sources: TensorFlow, core/lib/io/record_writer.cc and core/example/*.proto;
CRC-32C: RFC 3720, appendix B.4.

>>> hex(int(crc32c([b"123456789"])[0]))
'0xe3069283'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.manifest_types import PairsManifest
from ..dataset.shards import flat, padded
from ..storage.files import replacing
from .base import Format, Shard

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_FLOAT_COLUMN = "masked_lm_weights"
_BATCH_ROWS = 2048  # rows per batch of arrays
_COLUMNS = ("input_ids", "token_type_ids", "masked_lm_positions", "masked_lm_labels")
_TABLE = np.arange(256, dtype=np.uint32)  # the remainder of each byte, computed bit by bit
for _ in range(8):
    _TABLE = (_TABLE >> 1) ^ np.where(_TABLE & 1, np.uint32(_POLYNOMIAL), np.uint32(0))


def crc32c(texts: Sequence[bytes]) -> npt.NDArray[np.uint32]:
    """Return the CRC-32C of each string, computed byte by byte for all strings in parallel."""
    # Thousands of records are processed side by side, one byte position at a time. Shorter strings keep their sum.
    sizes = np.array(list(map(len, texts)))
    width = int(sizes.max(initial=0))
    data = np.frombuffer(b"".join(text.ljust(width, b"\0") for text in texts), np.uint8).reshape(len(texts), width).T.copy()
    sums = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for position, column in enumerate(data):
        sums = np.where(position < sizes, _TABLE[(sums ^ column) & 255] ^ (sums >> 8), sums)
    return np.asarray(sums ^ np.uint32(0xFFFFFFFF), np.uint32)


def _masked(texts: Sequence[bytes]) -> list[bytes]:
    """Return the masked CRC of each string: rotated by 15 bits, plus a constant."""
    sums = crc32c(texts).astype(np.uint64)
    turned = ((sums >> 15 | sums << 17) & 0xFFFFFFFF) + 0xA282EAD8
    return [value.tobytes() for value in turned.astype("<u4")]


@lru_cache(1 << 17)
def _varint(value: int) -> bytes:
    """Encode a number in groups of seven bits, low groups first.

    >>> _varint(300).hex()
    'ac02'
    """
    # 300 = 0b10_0101100: the low seven bits 0101100 with the continuation bit are 0xac, then 0b10 = 0x02.
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _field(number: int, data: bytes) -> bytes:
    """Encode a bytes field."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _list(name: str, values: list[int]) -> bytes:
    """Encode an entry of the feature map: its name, and a list of int64 (field 3) or float (field 2)."""
    # In Protocol Buffers' wire format, nested from the inside:
    #
    #   Feature.int64_list (3) { value (1): packed varints }     or float_list (2) { value (1): floats }
    #   map entry (1)          { key (1): name, value (2): the feature }
    if name == _FLOAT_COLUMN:
        feature = _field(2, _field(1, np.array(values, "<f4").tobytes()))
    else:
        feature = _field(3, _field(1, b"".join(map(_varint, values))))
    return _field(1, _field(1, name.encode()) + _field(2, feature))


def _refusal(contents: PairsManifest) -> str:
    """Return why rows are not BERT examples, or an empty string."""
    config = contents.settings
    if config.objective == "nsp" and config.masking == "static" and not config.pack:
        return ""
    return "it has pairs with static masks, one a row: make them with `objective` nsp and `masking` static, and without `pack`"


def _records(shard: Shard) -> Iterator[bytes]:
    """Yield records: size, CRC of the size, example, CRC of the example."""
    # Arrays of a batch are [N, L] for tokens, [N, P] for masked positions, and [N] for labels.
    assert isinstance(shard.manifest, PairsManifest) and shard.vocabulary
    length, predictions = shard.manifest.settings.max_seq_length, shard.manifest.statistics.max_predictions or 0
    pad = shard.vocabulary.special.pad
    for batch in shard.batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            part = batch.slice(start, _BATCH_ROWS)
            rows = np.arange(part.num_rows)
            ids, types, positions, labels = (flat(part.column(name)) for name in _COLUMNS)
            columns: dict[str, npt.NDArray[Any]] = {
                "input_ids": padded(*ids, rows, length, pad),
                "input_mask": np.arange(length) < np.diff(ids[1])[:, None],  # 1 for tokens, 0 for padding
                "segment_ids": padded(*types, rows, length, 0),
                "masked_lm_positions": padded(*positions, rows, predictions, 0),
                "masked_lm_ids": padded(*labels, rows, predictions, 0),
                _FLOAT_COLUMN: np.arange(predictions) < np.diff(positions[1])[:, None],
                "next_sentence_labels": part.column("next_sentence_label").to_numpy(),
            }
            names = sorted(columns)
            lists = [columns[name].astype(np.int64).reshape(len(columns[name]), -1).tolist() for name in names]
            encoded = [_field(1, b"".join(map(_list, names, values))) for values in zip(*lists, strict=True)]
            sizes = [len(example).to_bytes(8, "little") for example in encoded]
            for parts in zip(sizes, _masked(sizes), encoded, _masked(encoded), strict=True):
                yield b"".join(parts)


def _write(shard: Shard) -> list[str]:
    name = f"{shard.stem}.tfrecord"
    with replacing(shard.root / name) as file:
        file.writelines(_records(shard))
    return [name]


TFRECORD = Format(("pairs",), _write, refusal=_refusal, packages=("tokenizers",))
