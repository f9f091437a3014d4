"""Write a data set's README.md: what it holds, how it was made, how to read it."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["reading_line", "write"]

_WHAT = {
    "documents": "Documents, one a row: sentences in order, and where paragraphs start.",
    "nsp": "Sentence pairs for BERT's next sentence prediction: `[CLS] A [SEP] B [SEP]`; label 0 IsNext, 1 NotNext.",
    "sop": "Sentence pairs for ALBERT's sentence order prediction: `[CLS] A [SEP] B [SEP]`; label 0 in order, 1 swapped.",
    "full-sentences": "Full sentences that fill a row, as for RoBERTa: `[CLS] … [SEP]`, and a `[SEP]` where a document ends.",
    "causal": "Running text cut to length, as for GPT: a `[SEP]` ends each document.",
}


def reading_line(directory: str) -> str:
    """Return the line of Python that reads a data set."""
    return f'datasets.load_dataset({json.dumps(directory, ensure_ascii=False)}, split="train")'


def write(manifest: dict[str, Any]) -> str:
    """Return the card, with the front matter that `datasets` and the Hub read."""
    config = manifest["config"]
    suffix = "parquet" if config["format"] == "parquet" else "arrow"
    splits = [(split, f"data/{split}-*.{suffix}") for split in manifest.get("splits", ["train"])]
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *(line for split, path in splits for line in (f"  - split: {split}", f"    path: {path}")),
        "---",
        "",
        f"# {manifest['kind'].capitalize()}",
        "",
        _WHAT[config.get("objective", "documents")] + (" Rows are not padded." if "objective" in config else ""),
        *_masks(manifest),
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


def _masks(manifest: dict[str, Any]) -> list[str]:
    """Say what pairs' columns hold that come with masks and words, and how many tokens are unknown."""
    config, statistics = manifest["config"], manifest.get("statistics")
    if not statistics:
        return []
    lines = [f"Of the text's tokens {statistics['unknown_share']:.4%} are `[UNK]`."]
    if config["masking"] == "static":
        lines.append(
            f"Rows are masked: {statistics['masked_share']:.2%} of their tokens, at most {statistics['max_predictions']} in one; "
            "`masked_lm_positions` are the places, `masked_lm_labels` what stood there."
        )
    if config["chinese_words"] != "none":
        lines.append(f"`continues_word` tells of each token whether it goes on with a word ({config['chinese_words']}).")
    return lines


def _stage(stage: dict[str, Any]) -> str:
    gone = ["; ".join(f"{_cell(reason)} {n:,}" for reason, n in stage[key].items()) or "–" for key in ("dropped", "rejected")]
    return f"| {stage['stage']} | {stage['in']:,} | {stage['out']:,} | {gone[0]} | {gone[1]} |"


def _cell(text: str) -> str:
    """Keep a file's name from ending a table's cell or starting markup."""
    return "".join(f"&#{ord(c)};" if c in "|<>&`[]*_\\" else c for c in text if c.isprintable())
