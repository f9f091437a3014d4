"""Check the laws of TFRecord: sizes and CRCs of records, Protocol Buffers' wire format, the features of BERT's examples.

A CRC-32C of strings is that of them with zeros before, begun at 0, when the first four bytes of each are turned round: so strings
of different lengths end together, and are read from behind.  Sources: as in `bertdata.exports.tfrecord`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import PairsConfig
from ...rows.masking import max_predictions_of
from ..files import CheckFailed
from .rows import Read, examples

__all__ = ["crc32c", "read"]

_EACH = 256  # records looked at, at a time
_HEAD, _TAIL = struct.Struct("<QI"), struct.Struct("<I")
Array = npt.NDArray[Any]


def crc32c(texts: list[bytes]) -> Array:
    """Return the CRC-32C of each string, none shorter than four bytes.

    >>> hex(int(crc32c([b"123456789"])[0]))
    '0xe3069283'
    """
    width = max(map(len, texts))
    turned = (bytes(byte ^ 255 for byte in text[:4]) + text[4:] for text in texts)
    columns = np.frombuffer(b"".join(text.rjust(width, b"\0") for text in turned), np.uint8).reshape(len(texts), width).T
    state = np.zeros(len(texts), np.uint32)
    for column in columns.astype(np.uint32):
        state = _TABLE[(state & 255) ^ column] ^ (state >> 8)
    return np.asarray(state ^ np.uint32(0xFFFFFFFF))


def _remainder(byte: int) -> int:
    """Divide a byte, low bit first, by Castagnoli's polynomial x³² + x²⁸ + … + 1."""
    for _ in range(8):
        byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
    return byte


_TABLE = np.array([_remainder(byte) for byte in range(256)], np.uint32)


def _check_sums(texts: list[bytes], stored: list[int], what: str, first: int) -> None:
    """Raise CheckFailed unless each sum, with the constant taken off and turned back, is that of its string."""
    shifted = (np.array(stored, np.uint64) - np.uint64(0xA282EAD8)) & np.uint64(0xFFFFFFFF)
    sums = (shifted << np.uint64(15) | shifted >> np.uint64(17)) & np.uint64(0xFFFFFFFF)
    same = crc32c(texts) == sums
    if not same.all():
        raise CheckFailed(f"record {first + int(np.argmin(same))} has another CRC than its {what}")


def read(path: Path, needed: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard."""
    first, forms = 0, _forms(needed.config)
    most = 1024 + 10 * sum(width for width, _ in forms.values())  # bytes of an example: a number has ten at most
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            heads, bodies, sums = _records(file, size, most, first)
            _check_sums([head[:8] for head in heads], [_HEAD.unpack(head)[1] for head in heads], "size", first)
            _check_sums(bodies, sums, "example", first)
            try:
                features = [_features(body) for body in bodies]
                if any(set(example) != set(forms) for example in features):
                    raise ValueError(f"an example has other features than {', '.join(forms)}")
                arrays = {name: _array([example[name] for example in features], *form, name) for name, form in forms.items()}
            except (ValueError, IndexError) as error:
                raise CheckFailed(f"records from {first} on: {' '.join(str(error).split())}") from error
            yield examples(arrays, first, needed)
            first += len(bodies)


def _forms(config: PairsConfig) -> dict[str, tuple[int, int]]:
    """Return of each feature how many numbers it has, and the field that tells their type: 3 of int64, 2 of float."""
    length, most = config.max_seq_length, max_predictions_of(config)
    forms = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), (length, 3))
    forms |= dict.fromkeys(("masked_lm_ids", "masked_lm_positions"), (most, 3))
    return {**forms, "masked_lm_weights": (most, 2), "next_sentence_labels": (1, 3)}


def _records(file: IO[bytes], end: int, most: int, first: int) -> tuple[list[bytes], list[bytes], list[int]]:
    """Read some records: their heads, their examples, the examples' sums."""
    heads: list[bytes] = []
    bodies: list[bytes] = []
    sums: list[int] = []
    while file.tell() < end and len(heads) < _EACH:
        head = file.read(_HEAD.size)
        size = _HEAD.unpack(head)[0] if len(head) == _HEAD.size else most + 1
        if not 4 <= size <= most:
            raise CheckFailed(f"record {first + len(heads)} has a size that no example has, or is cut")
        whole = file.read(size + _TAIL.size)
        if len(whole) != size + _TAIL.size:
            raise CheckFailed(f"record {first + len(heads)} ends after the file")
        heads.append(head)
        bodies.append(whole[:size])
        sums += _TAIL.unpack(whole[size:])
    return heads, bodies, sums


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers and bytes of a message's fields, all of them of a length."""
    at = 0
    while at < len(data):
        tag, size, shift, at = data[at], 0, 0, at + 1
        if tag & 7 != 2 or tag > 127:
            raise ValueError("a field is not of bytes")
        while True:
            size |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                break
        if at + size > len(data):
            raise ValueError("a field ends after its message")
        yield tag >> 3, data[at : at + size]
        at += size


def _only(data: bytes, *numbers: int) -> tuple[int, bytes]:
    """Return the one field of a message, of one of these numbers."""
    fields = list(_fields(data))
    if len(fields) != 1 or fields[0][0] not in numbers:
        raise ValueError("a message has not the one field that it is to have")
    return fields[0]


def _features(body: bytes) -> dict[str, tuple[int, bytes]]:
    """Return of each feature the field that tells its type, and its packed numbers."""
    features = {}
    for number, entry in _fields(_only(body, 1)[1]):
        parts = list(_fields(entry))
        if number != 1 or [key for key, _ in parts] != [1, 2]:
            raise ValueError("an entry is no name with a feature")
        name, (kind, values) = parts[0][1].decode("utf-8"), _only(parts[1][1], 2, 3)
        if name in features:
            raise ValueError(f"an example has {name} twice")
        features[name] = kind, _only(values, 1)[1]
    return features


def _array(packed: list[tuple[int, bytes]], width: int, wanted: int, name: str) -> Array:
    """Return the numbers [N, width] of a feature."""
    if any(kind != wanted for kind, _ in packed):
        raise ValueError(f"{name} is of another type")
    data = np.frombuffer(b"".join(number_bytes for _, number_bytes in packed), np.uint8)
    sizes = np.array([len(number_bytes) for _, number_bytes in packed])
    if wanted == 2:
        if (sizes != 4 * width).any():
            raise ValueError(f"{name} has not {width} numbers")
        return np.frombuffer(data.tobytes(), "<f4").reshape(len(packed), width)
    last = data < 128  # the last byte of each number
    ends = np.cumsum(sizes)
    counts = np.add.reduceat(last, ends - sizes, dtype=np.int64) if sizes.all() else sizes * 0
    if (counts != width).any() or not last[ends - 1].all():
        raise ValueError(f"{name} has not {width} numbers")
    starts = np.append(0, np.flatnonzero(last)[:-1] + 1)
    offsets = np.arange(len(data)) - np.repeat(starts, np.diff(np.append(starts, len(data))))
    if (offsets > 4).any():
        raise ValueError(f"{name} has a number of more than 35 bits")
    values = np.add.reduceat((data & 127).astype(np.int64) << (7 * offsets), starts)
    return np.asarray(values.reshape(len(packed), width))
