"""A small data set of pairs, written at once: rows of the lengths a test asks for, with ids that tell their row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bertdata import manifest, shards, vocab
from bertdata.config import PairsConfig
from bertdata.files import file_entry, write_json
from bertdata.manifest import Tally

WORDS = [f"w{i}" for i in range(700)]
PIECES = [*vocab.SPECIAL, *WORDS, *(f"##{word}" for word in WORDS[:300])]
CLS, SEP, FIRST = PIECES.index("[CLS]"), PIECES.index("[SEP]"), PIECES.index("w0")


def row_of(number: int, length: int, salt: int = 0) -> list[int]:
    """[CLS], half of the words, [SEP], the others, [SEP]; every word of a row tells which row it is."""
    words = [FIRST + (number * 7 + place * 13 + salt) % 1000 for place in range(length - 3)]
    return [CLS, *words[: length // 2], SEP, *words[length // 2 :], SEP]


def columns_of(lengths: Sequence[int], start: int, salt: int, words: bool) -> dict[str, Any]:
    """The columns of rows of these lengths, numbered from `start`."""
    rows = [row_of(start + i, length, salt) for i, length in enumerate(lengths)]
    flat = np.array([i for row in rows for i in row], np.uint16)
    types = np.array([int(place > row.index(SEP)) for row in rows for place in range(len(row))], np.uint8)
    columns = {
        "ends": np.cumsum([0, *lengths]),
        "input_ids": flat,
        "token_type_ids": types,
        "next_sentence_label": np.arange(len(lengths)) % 2,
    }
    return columns | ({"continues_word": flat % 3 == 0} if words else {})


def write_pairs(
    root: Path, lengths: dict[str, Sequence[Sequence[int]]], *, width: int = 64, salt: int = 0, words: bool = False, **config: Any
) -> Path:
    """Write pairs of `lengths`: split -> shards -> the rows' lengths."""
    made, entries = PairsConfig(max_seq_length=width, shards=1, **config), []
    for split, parts in lengths.items():
        for index, part in enumerate(parts):
            columns = columns_of(part, sum(map(len, parts[:index])), salt, words)
            schema = shards.pair_schema(len(PIECES), columns)
            name = shards.name(split, index, len(parts), made.format)
            entries.append(shards.write(root, name, schema, [shards.pair_batch(schema, columns)], made.format))
    rows = sum(entry["rows"] for entry in entries)
    names = vocab.write(root, vocab.Vocabulary(PIECES, True, True))
    files = [file_entry(root, name) for name in names]
    told: dict[str, Any] = {"files": files, "vocab_size": len(PIECES), "statistics": {"rows": rows}}
    tallies = [Tally("chunks", entered=rows, left=rows)]
    found = manifest.make("pairs", config=made.identity(), inputs=[], shards=entries, tallies=tallies, **told)
    write_json(root / manifest.NAME, found)
    return root
