"""Write a data set's README.md: what it holds, how it was made, how to read it."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["reading_line", "write"]

_WHAT = {
    "documents": "Documents, one a row: sentences in order, and where paragraphs start.",
    "pairs": "Sentence pairs for BERT's next sentence prediction: `[CLS] A [SEP] B [SEP]`, not padded, not masked.",
}


def reading_line(directory: str) -> str:
    """Return the line of Python that reads a data set."""
    return f'datasets.load_dataset({json.dumps(directory, ensure_ascii=False)}, split="train")'


def write(manifest: dict[str, Any]) -> str:
    """Return the card, with the front matter that `datasets` and the Hub read."""
    suffix = "parquet" if manifest["config"]["format"] == "parquet" else "arrow"
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: data/train-*.{suffix}",
        "---",
        "",
        f"# {manifest['kind'].capitalize()}",
        "",
        _WHAT[manifest["kind"]],
        f"Made with bertdata {manifest['versions']['bertdata']}; every count and digest is in `manifest.json`.",
        "",
        f"Rows: {manifest['rows']:,} in {len(manifest['shards'])} shards.",
        "",
        "```python",
        "import datasets",
        reading_line("."),
        "```",
        "",
        "## Where the text comes from",
        "",
        "| input | source | bytes | licence |",
        "|---|---|---|---|",
        *(f"| {_cell(i['name'])} | {i['source']} | {i['bytes']:,} | {_cell(i['licence'])} |" for i in manifest["inputs"][:1000]),
        "",
        "## What became of it",
        "",
        "| stage | in | out | dropped | rejected |",
        "|---|---|---|---|---|",
        *(_stage(stage) for stage in manifest["counts"]),
    ]
    return "\n".join(lines) + "\n"


def _stage(stage: dict[str, Any]) -> str:
    gone = ["; ".join(f"{_cell(reason)} {n:,}" for reason, n in stage[key].items()) or "–" for key in ("dropped", "rejected")]
    return f"| {stage['stage']} | {stage['in']:,} | {stage['out']:,} | {gone[0]} | {gone[1]} |"


def _cell(text: str) -> str:
    """Keep a file's name from ending a table's cell or starting markup."""
    return "".join(f"&#{ord(c)};" if c in "|<>&`[]*_\\" else c for c in text if c.isprintable())
