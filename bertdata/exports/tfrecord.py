"""Write TFRecord files for google-research/bert and the TensorFlow Model Garden: one `tf.train.Example` per pair.

A record is its size as uint64, the masked CRC-32C of the size, the example, and its masked CRC.  An example maps names to lists
of numbers, in Protocol Buffers' wire format.  Sources: TensorFlow, core/lib/io/record_writer.cc and core/example/*.proto;
CRC-32C: RFC 3720, appendix B.4.

>>> hex(int(crc32c([b"123456789"])[0]))
'0xe3069283'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
import numpy.typing as npt

from .base import ExportFile, Format, Shard, write_file
from .bert import examples, not_static

__all__ = ["TFRECORD", "crc32c"]

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_FLOAT_COLUMN = "masked_lm_weights"


def _table() -> npt.NDArray[np.uint32]:
    # The usual table of a CRC: the remainder of each byte, computed bit by bit.
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return table


_CRC_TABLE = _table()


def crc32c(texts: Sequence[bytes]) -> npt.NDArray[np.uint32]:
    """Return the CRC-32C of each string, computed byte by byte for all strings in parallel."""
    # A CRC in pure Python takes a step per byte. Thousands of records are processed side by side,
    # one byte position at a time, so that NumPy does the work. Shorter strings keep their sum.
    sizes = np.array([len(text) for text in texts])
    width = int(sizes.max(initial=0))
    data = np.frombuffer(b"".join(text.ljust(width, b"\0") for text in texts), np.uint8).reshape(len(texts), width).T.copy()
    sums = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for position, column in enumerate(data):
        sums = np.where(position < sizes, _CRC_TABLE[(sums ^ column) & 255] ^ (sums >> 8), sums)
    return np.asarray(sums ^ np.uint32(0xFFFFFFFF), np.uint32)


def _masked(texts: Sequence[bytes]) -> list[bytes]:
    """Return the masked CRC of each string: rotated by 15 bits, plus a constant."""
    sums = crc32c(texts).astype(np.uint64)
    turned = ((sums >> 15 | sums << 17) & 0xFFFFFFFF) + 0xA282EAD8
    return [value.tobytes() for value in turned.astype("<u4")]


def _varint(value: int) -> bytes:
    """Encode a number in groups of seven bits, low groups first.

    >>> _varint(300).hex()
    'ac02'
    """
    # 300 = 0b10_0101100: the low seven bits 0101100 with the continuation bit are 0xac, then 0b10 =
    # 0x02.
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _field(number: int, data: bytes) -> bytes:
    """Encode a bytes field."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


_VARINTS = [_varint(value) for value in range(1 << 14)]


def _list(name: str, values: list[int]) -> bytes:
    """Encode an entry of the feature map: its name, and a list of int64 (field 3) or float (field 2)."""
    # In Protocol Buffers' wire format, nested from the inside:
    #
    #   Feature.int64_list (3) { value (1): packed varints }     or float_list (2) { value (1): floats }
    #   map entry (1)          { key (1): name, value (2): the feature }
    if name == _FLOAT_COLUMN:
        feature = _field(2, _field(1, np.array(values, "<f4").tobytes()))
    else:
        numbers = b"".join(_VARINTS[value] if value < len(_VARINTS) else _varint(value) for value in values)
        feature = _field(3, _field(1, numbers))
    return _field(1, _field(1, name.encode()) + _field(2, feature))


def _records(shard: Shard) -> Iterator[bytes]:
    for columns in examples(shard):
        names = sorted(columns)
        lists = [columns[name].astype(np.int64).reshape(len(columns[name]), -1).tolist() for name in names]
        encoded = [_field(1, b"".join(map(_list, names, values))) for values in zip(*lists, strict=True)]
        sizes = [len(example).to_bytes(8, "little") for example in encoded]
        # A record: size, CRC of the size, example, CRC of the example.
        for parts in zip(sizes, _masked(sizes), encoded, _masked(encoded), strict=True):
            yield b"".join(parts)


def _write(shard: Shard) -> list[ExportFile]:
    def write(file: IO[bytes]) -> None:
        file.writelines(_records(shard))

    return [write_file(shard.root, f"{shard.stem}.tfrecord", write)]


TFRECORD = Format("pairs", _write, refusal=not_static, packages=("tokenizers",))
