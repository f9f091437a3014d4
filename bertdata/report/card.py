"""Write a data set's README.md: what it holds, how it was made, how to read it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..config import OBJECTIVES
from ..pieces import OF_BERT, ROLES, tokens_by_role, word_rule
from . import licences
from .reading import snippets
from .words import apparatus, cell, count

__all__ = ["reading_line", "write"]

_DOCUMENTS = "Documents, one a row: sentences in order, and where paragraphs start."


def reading_line(directory: str, format: str = "") -> str:
    """Return the line of Python that reads a data set; of one in a store, its shards have to be named."""
    if "://" in directory:
        suffix = "parquet" if format == "parquet" else "arrow"
        return f'datasets.load_dataset("{suffix}", data_files="{directory}/data/train-*.{suffix}", split="train")'
    return f'datasets.load_dataset({json.dumps(directory, ensure_ascii=False)}, split="train")'


def write(manifest: dict[str, Any]) -> str:
    """Return the card, with the front matter that `datasets` and the Hub read."""
    config = manifest["config"]
    what = OBJECTIVES[config["objective"]].summary + " Rows are not padded." if "objective" in config else _DOCUMENTS
    suffix = "parquet" if config["format"] == "parquet" else "arrow"
    splits = [(split, f"data/{split}-*.{suffix}") for split in manifest.get("splits", ["train"])]
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        f'  description: "SHA-256 of the shards: {_digest(manifest["shards"])}"',
        "  data_files:",
        *(line for split, path in splits for line in (f"  - split: {split}", f"    path: {path}")),
        "---",
        "",
        f"# {manifest['kind'].capitalize()}",
        "",
        _in_tokens(what, manifest),
        *_masks(manifest),
        *_tokens(manifest),
        f"Made with bertdata {manifest['versions']['bertdata']}; every count and digest is in `manifest.json`.",
        "",
        f"Rows: {manifest['rows']:,} in {count(len(manifest['shards']), 'shard')}.",
        "",
        "## How to read it",
        "",
        "Each of these runs in the data set's directory.",
        *(line for code in snippets(manifest["kind"], config["format"]).values() for line in ("", "```python", code, "```")),
        "",
        "## Where the text comes from",
        "",
        "| input | source | bytes | licence |",
        "|---|---|---|---|",
        *(f"| {cell(i['name'])} | {i['source']} | {i['bytes']:,} | {cell(i['licence'])} |" for i in manifest["inputs"][:1000]),
        *licences.licence_lines(manifest),
        "",
        "## What became of it",
        "",
        "| stage | in | out | dropped | rejected |",
        "|---|---|---|---|---|",
        *(_stage(stage) for stage in manifest["counts"]),
        *_shares(manifest),
        *_bounds(config),
        *licences.citation(manifest, _digest(manifest["shards"])),
    ]
    return "\n".join(lines) + "\n"


def _digest(shards: list[dict[str, Any]]) -> str:
    """Hash the shards' names and digests.

    `datasets` names its cache by a directory's last part and by what `configs:` says, and by nothing of the rows: without this
    digest, two data sets called ``corpus`` would have one cache, and the second one would be read as the rows of the first.
    """
    text = json.dumps([[shard["name"], shard["sha256"]] for shard in shards])
    return hashlib.sha256(text.encode()).hexdigest()


def _masks(manifest: dict[str, Any]) -> list[str]:
    """Say what pairs' columns hold that come with packing, masks and words, and how many tokens are unknown."""
    config, statistics = manifest["config"], manifest.get("statistics")
    if not statistics:
        return []
    unknown = f"`{token}`" if (token := _roles(manifest).get("unk")) else "unknown"
    lines = [f"Of the text's tokens {statistics['unknown_share']:.4%} are {unknown}."]
    if "parts" in statistics:
        full = 1 - statistics["padding_share"]
        lines.append(
            f"Rows are packed, {full:.2%} of {config['max_seq_length']} places filled: {statistics['parts']:,} parts of the form "
            "above, which begin at `document_starts`. A model must not look from one part into another. `bertdata.batches` with "
            "`for_model` prevents that. Trainers that take a row as one sequence, and `transformers.Trainer` with `datasets`, "
            "which removes the column, need rows made without `--pack`."
        )
    if config["masking"] == "static":
        lines.append(
            f"Rows are masked: {statistics['masked_share']:.2%} of their tokens, at most {statistics['max_predictions']} in one; "
            "`masked_lm_positions` are the places, `masked_lm_labels` what stood there."
        )
    if config["chinese_words"] != "none":
        lines.append(f"`continues_word` tells of each token whether it continues a word ({config['chinese_words']}).")
    return lines


def _roles(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the special tokens of rows by role, as they can stand between backticks."""
    tokens = tokens_by_role(manifest)
    return {role: "".join(c for c in token if c.isprintable() and c != "`") for role, token in tokens.items()}


def _in_tokens(text: str, manifest: dict[str, Any]) -> str:
    """Write the vocabulary's own special tokens instead of BERT's."""
    tokens = _roles(manifest)
    for role in ("cls", "sep"):
        text = text.replace(OF_BERT[role], tokens.get(role, OF_BERT[role]))
    return text


def _tokens(manifest: dict[str, Any]) -> list[str]:
    """Say which special tokens the vocabulary of rows has, and which tokens begin a word."""
    if manifest["config"].get("objective") not in OBJECTIVES:
        return []
    tokens = _roles(manifest)
    named = ", ".join(f"{role} `{tokens[role]}`" for role in ROLES if role in tokens)
    files = " and ".join(f"`{file['name']}`" for file in manifest.get("files", []))
    sentence = f"The vocabulary, {manifest['vocab_size']:,} pieces, is in {files}; special tokens: {named}."
    return [f"{sentence} {word_rule(manifest.get('word_mark', '##'))}"]


def _shares(manifest: dict[str, Any]) -> list[str]:
    """Say how much text each source and language has given, and what was taken out of a corpus' documents."""
    sources = manifest.get("sources") or manifest.get("corpus", {}).get("sources")
    if not sources:
        return []
    lines = ["", "The rows are of this corpus."] if "corpus" in manifest else []
    lines += ["", "| source | documents | words | bytes of text | share |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {s['documents']:,} | {_words(s)} | {s['text_bytes']:,} | {s['share']:.4f} |" for name, s in sources.items()
    ]
    spoken = [(name, code, n) for name, s in sources.items() for code, n in s.get("languages", {}).items()]
    if spoken:
        total, tokens = sum(n["characters"] for _, _, n in spoken) or 1, manifest.get("tokens", {})
        heads = ["source", "language", "documents", "words", "characters", "share", *(["tokens"] if tokens else [])]
        lines += ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for a, c, n in spoken:
            entry = [a, cell(c), *(f"{n[what]:,}" for what in heads[2:5]), f"{n['characters'] / total:.4f}"]
            lines.append(f"| {' | '.join(entry + ([f'{tokens.get(a, {}).get(c, 0):,}'] if tokens else []))} |")
        lines += [
            "",
            "Words are what stands between white space; shares of languages are of characters.",
        ]
    if "corpus" in manifest:
        return lines
    if books := apparatus(sources):
        lines += ["", f"{books[0].upper()}{books[1:]}."]
    if removed := sum(source.get("removed_paragraphs", 0) for source in sources.values()):
        documents = sum(source.get("trimmed_documents", 0) for source in sources.values())
        lines += ["", f"{removed:,} paragraphs that had occurred before were taken out of {documents:,} documents."]
    if limit := manifest["config"]["choice"].get("max_words"):
        cut = sum(source.get("removed_words", 0) for source in sources.values())
        lines += [
            "",
            f"Documents were drawn up to so many words: {cell(limit)}; {cut:,} words went where a document was cut for it.",
        ]
    if mix := manifest["config"]["choice"]["mix"]:
        lines += ["", f"Sources were thinned to the shares that were asked for: {cell(mix)}."]
    return lines


def _bounds(config: dict[str, Any]) -> list[str]:
    """Say which bounds a corpus' documents keep, and which evaluation sets they do not overlap."""
    if "filters" not in config:
        return []
    bounds = "; ".join(f"`{name}` {_value(value)}" for name, value in config["filters"].items() if value)
    lines = ["", f"Documents keep these bounds: {bounds or 'none'}."]
    if names := ", ".join(cell(file["name"]) for file in config["exclude"]):
        lines += ["", f"Documents that share 13 words in a row with {names} are left out."]
    return lines


def _value(value: Any) -> str:
    return cell(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _words(source: dict[str, Any]) -> str:
    return f"{source['words']:,}" if "words" in source else "–"


def _stage(stage: dict[str, Any]) -> str:
    gone = ["; ".join(f"{cell(reason)} {n:,}" for reason, n in stage[key].items()) or "–" for key in ("dropped", "rejected")]
    return f"| {stage['stage']} | {stage['in']:,} | {stage['out']:,} | {gone[0]} | {gone[1]} |"
