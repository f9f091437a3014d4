"""A small dataset of pairs, written at once: rows of the lengths a test asks for, with ids that tell their row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bertdata.codec import decode, encode
from bertdata.config import LABEL_1_COUNTS, CorpusConfig, PairsConfig
from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_records import RowFile
from bertdata.tally import Tally
from bertdata.tokens import vocab

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
        "origin": np.zeros(len(lengths), np.uint16),
    }
    return columns | ({"continues_word": (flat % 3 == 0) & (flat >= FIRST)} if words else {})


def write_pairs(
    root: Path, lengths: dict[str, Sequence[Sequence[int]]], *, width: int = 64, salt: int = 0, words: bool = False, **config: Any
) -> Path:
    """Write pairs of `lengths`: split -> shards -> the rows' lengths."""
    made, entries = PairsConfig(max_seq_length=width, shards=1, **config), []
    for split, parts in lengths.items():
        for index, part in enumerate(parts):
            columns = columns_of(part, sum(map(len, parts[:index])), salt, words)
            if made.masking == "static":  # of no token
                none = np.array([], np.uint16)
                ends = np.zeros(len(part) + 1, np.int64)
                columns |= {"masked_lm_positions": none, "masked_lm_labels": none, "masked_lm_ends": ends}
            schema = shards.pair_schema(len(PIECES), columns)
            name = shards.name(split, index, len(parts))
            entries.append(shards.write(root, name, schema, [shards.pair_batch(schema, columns)]))
    vocabulary = vocab.from_tokens(PIECES, True, True)
    names = vocab.write(root, vocabulary)
    told: dict[str, Any] = {"files": [encode(manifest.entry(root, name)) for name in names], **vocabulary.in_manifest()}
    told["corpus"] = {"rows": 0, "counts": [], "sources": {}, "inputs": [], "further_inputs": 0}
    told |= {"origins": [["text", "en"]], "tokens": {"text": {"en": 1}}, "unknown_tokens": {}}
    told["statistics"] = statistics([length for parts in lengths.values() for part in parts for length in part], made)
    told["splits"] = {
        split: {"shards": len(parts), **statistics([length for part in parts for length in part], made)}
        for split, parts in lengths.items()
    }
    rows = told["statistics"]["rows"]
    tallies = [Tally("chunks", entered=rows, left=rows)]
    head = manifest.head("pairs", made, entries, tallies)
    manifest.store(root, {**encode(head), **told, "inputs": []}, "# Pairs\n")
    return root


def statistics(lengths: Sequence[int], config: PairsConfig) -> dict[str, Any]:
    """What a manifest says of rows of these lengths."""
    rows, tokens = len(lengths), sum(lengths)
    found: dict[str, Any] = {"rows": rows, "documents": rows, "repeated_ids": 0, "tokens": tokens}
    if name := LABEL_1_COUNTS.get(config.objective):
        found |= {name: rows // 2, f"{name}_share": 0.5}
    found |= {"mean_length": tokens / max(1, rows), "padding_share": 1 - tokens / max(1, rows * config.max_seq_length)}
    found["unknown_share"] = 0.0
    if config.masking == "static":
        found |= {"masked": 0, "masked_share": 0.0, "max_predictions": config.max_predictions or 19}
    return found


def corpus_manifest(shards: list[dict[str, Any]], *, tallies: Sequence[Tally] = (), **config: Any) -> dict[str, Any]:
    """The manifest of a corpus with these shards."""
    more: dict[str, Any] = {"sources": {}, "rejects": [], "drops": [], "dropped_templates": {"calls": 0, "most_frequent": []}}
    more["formulas"] = {"found": {}, "written": {}, "dropped": {}, "left_out": {}, "dropped_sentences": 0}
    head = manifest.head("documents", CorpusConfig(**config), decode(shards, list[RowFile]), list(tallies))
    return {**encode(head), **more, "inputs": [], "shards": shards}
