"""Write a dataset's README.md: its contents, how it was made, and how to read it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from ..config import OBJECTIVES
from ..dataset.manifest_records import RowFile, SourceEntry
from ..dataset.manifest_types import CorpusManifest, PairsManifest, ReadableManifest
from ..pieces import BERT_TOKENS, ROLES, word_rule
from ..tally import StageCounts
from . import licences
from .summary import apparatus, cell, count, edits
from .vocabulary_warnings import has_spaces

__all__ = ["reading_line", "snippets", "write"]

_DOCUMENTS = "One document per row: its sentences in order, and where paragraphs start."
_POLARS = """import polars
print(polars.scan_ipc("data/train-*.arrow").head().collect())"""
_DUCKDB = """import duckdb, glob, pyarrow.dataset
rows = pyarrow.dataset.dataset(sorted(glob.glob("data/train-*.arrow")), format="ipc")
duckdb.sql("SELECT count(*) FROM rows").show()"""
_DATASETS = """import datasets, os  # which takes no "." for a directory
print(datasets.load_dataset(os.getcwd(), split="train")[0])"""
_TORCH = """import bertdata
for batch in bertdata.batches(bertdata.Shards("."), 8, for_model="custom"):  # or for_model=model, of transformers
    print(batch["input_ids"].shape)
    break"""


def reading_line(directory: str) -> str:
    """Return the line of Python that reads a dataset; of one in a store, its shards have to be named."""
    if "://" in directory:
        return f'datasets.load_dataset("arrow", data_files="{directory}/data/train-*.arrow", split="train")'
    return f'datasets.load_dataset({json.dumps(directory, ensure_ascii=False)}, split="train")'


def write(manifest: ReadableManifest) -> str:
    """Return the card, with the front matter that `datasets` and the Hub read."""
    splits = [(split, f"data/{split}-*.arrow") for split in getattr(manifest, "splits", ["train"])]
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        f'  description: "SHA-256 of the shards: {_digest(manifest.shards)}"',
        "  data_files:",
        *(line for split, path in splits for line in (f"  - split: {split}", f"    path: {path}")),
        "---",
        "",
        f"# {manifest.kind.capitalize()}",
        "",
        *([_DOCUMENTS] if isinstance(manifest, CorpusManifest) else _of_rows(manifest)),
        f"Made with bertdata {manifest.versions['bertdata']}; every count and digest is in `manifest.json`.",
        "",
        f"Rows: {manifest.rows:,} in {count(len(manifest.shards), 'shard')}.",
        "",
        "## How to read it",
        "",
        "Each of these runs in the dataset's directory.",
        *(line for code in snippets(manifest.kind).values() for line in ("", "```python", code, "```")),
        "",
        "## Where the text comes from",
        "",
        "| input | source | bytes | licence |",
        "|---|---|---|---|",
        *(f"| {cell(i.name)} | {i.source} | {i.bytes:,} | {cell(i.licence)} |" for i in manifest.inputs[:1000]),
        *licences.licence_lines(manifest),
        "",
        "## Counts by stage",
        "",
        "| stage | in | out | dropped | rejected |",
        "|---|---|---|---|---|",
        *(_stage(stage) for stage in manifest.counts),
        *_shares(manifest),
        *(_bounds(manifest) if isinstance(manifest, CorpusManifest) else []),
        *licences.citation(manifest, _digest(manifest.shards)),
    ]
    return "\n".join(lines) + "\n"


def _digest(shards: Sequence[RowFile]) -> str:
    """Hash the shards' names and digests.

    `datasets` names its cache by a directory's last part and by `configs:`, not by the rows: without this
    digest, two datasets called ``corpus`` would have one cache, and the second one would be read as the rows of the first.
    """
    text = json.dumps([[shard.name, shard.sha256] for shard in shards])
    return hashlib.sha256(text.encode()).hexdigest()


def _of_rows(manifest: PairsManifest) -> list[str]:
    """Describe rows: their form, columns and masks, the share of unknown tokens, and the vocabulary."""
    config, statistics, roles = manifest.settings, manifest.statistics, _roles(manifest)
    form = OBJECTIVES[config.objective].summary + " Rows are not padded."
    for role in ("cls", "sep"):
        form = form.replace(BERT_TOKENS[role], roles.get(role, BERT_TOKENS[role]))
    unknown = f"`{token}`" if (token := roles.get("unk")) else "unknown"
    lines = [form, f"{statistics.unknown_share:.4%} of the text tokens are {unknown}."]
    if statistics.parts is not None:
        full = 1 - statistics.padding_share
        lines.append(
            f"Rows are packed: {full:.2%} of {config.max_seq_length} positions are filled, with {statistics.parts:,} segments of "
            "the form above, which begin at `document_starts`. A model must not attend from one segment to another. "
            "`bertdata.batches` with `for_model` prevents that. Trainers that treat a row as one sequence, and "
            "`transformers.Trainer` with `datasets`, which removes the column, need rows made without `--pack`."
        )
    if config.masking == "static":
        lines.append(
            f"Rows are masked: {statistics.masked_share:.2%} of their tokens, at most {statistics.max_predictions} per row. "
            "`masked_lm_positions` has the positions, `masked_lm_labels` the original ids."
        )
    if config.chinese_words != "none":
        lines.append(f"`continues_word` marks the tokens that continue a word ({config.chinese_words}).")
    named = ", ".join(f"{role} `{roles[role]}`" for role in ROLES if role in roles)
    files = " and ".join(f"`{file.name}`" for file in manifest.files)
    sentence = f"The vocabulary, {manifest.vocab_size:,} pieces, is in {files}; special tokens: {named}."
    return [*lines, f"{sentence} {word_rule(manifest.mark)}"]


def _roles(manifest: PairsManifest) -> dict[str, str]:
    """Return the special tokens of rows by role, without characters that would end a code span."""
    tokens = manifest.roles
    return {role: "".join(c for c in token if c.isprintable() and c != "`") for role, token in tokens.items()}


def _shares(manifest: ReadableManifest) -> list[str]:
    """List the text of each source and language, and the text removed from a corpus' documents."""
    if isinstance(manifest, CorpusManifest):
        return [*_amounts(manifest.sources, {}), *_removed(manifest)] if manifest.sources else []
    if manifest.corpus is None or not manifest.corpus.sources:
        return []
    return ["", "The rows are of this corpus.", *_amounts(manifest.corpus.sources, manifest.tokens or {})]


def _amounts(sources: dict[str, SourceEntry], tokens: dict[str, dict[str, int]]) -> list[str]:
    lines = ["", "| source | documents | words | bytes of text | share |", "|---|---|---|---|---|"]
    for name, s in sources.items():
        # Languages without spaces have no words to count.
        spaced = [n.words for code, n in (s.languages or {}).items() if has_spaces(code)] if s.languages else [s.words]
        words = "–" if not spaced or None in spaced else f"{sum(filter(None, spaced)):,}"
        lines.append(f"| {name} | {s.documents:,} | {words} | {s.text_bytes:,} | {s.share:.4f} |")
    spoken = [(name, code, n) for name, s in sources.items() for code, n in (s.languages or {}).items()]
    if not spoken:
        return lines
    total = sum(n.characters for _, _, n in spoken) or 1
    heads = ["source", "language", "documents", "words", "characters", "share", *(["tokens"] if tokens else [])]
    lines += ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for a, c, n in spoken:
        entry = [
            a,
            cell(c),
            f"{n.documents:,}",
            f"{n.words:,}" if has_spaces(c) else "–",
            f"{n.characters:,}",
            f"{n.characters / total:.4f}",
        ]
        lines.append(f"| {' | '.join(entry + ([f'{tokens.get(a, {}).get(c, 0):,}'] if tokens else []))} |")
    return [
        *lines,
        "",
        "Words are separated by whitespace, so not every language has them. Shares of languages are shares of characters.",
    ]


def _removed(manifest: CorpusManifest) -> list[str]:
    """List the text removed from a corpus' documents, and the limits applied to its sources."""
    sources, choice, lines = manifest.sources, manifest.config["choice"], []
    if books := apparatus(sources):
        lines += ["", f"{books[0].upper()}{books[1:]}."]
    if found := edits(sources):
        lines += ["", f"Documents were edited with `--map`: {cell(found)}."]
    if removed := sum(source.removed_paragraphs or 0 for source in sources.values()):
        documents = sum(source.trimmed_documents or 0 for source in sources.values())
        lines += ["", f"{removed:,} repeated paragraphs were removed from {documents:,} documents."]
    if limit := choice.get("max_words"):
        cut = sum(source.removed_words or 0 for source in sources.values())
        lines += [
            "",
            f"Word limits: {cell(limit)}. {cut:,} words were removed from the documents that reached a limit.",
        ]
    if mix := choice["mix"]:
        lines += ["", f"Sources were sampled down to these shares: {cell(mix)}."]
    return lines


def _bounds(manifest: CorpusManifest) -> list[str]:
    """List the bounds of a corpus' documents, and the evaluation sets they do not overlap."""
    bounds = "; ".join(f"`{name}` {_value(value)}" for name, value in manifest.config["filters"].items() if value)
    lines = ["", f"Filters: {bounds or 'none'}."]
    if names := ", ".join(cell(file["name"]) for file in manifest.config["exclude"]):
        lines += ["", f"Documents that share 13 words in a row with {names} are dropped."]
    return lines


def _value(value: Any) -> str:
    return cell(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _stage(stage: StageCounts) -> str:
    gone = ["; ".join(f"{cell(reason)} {n:,}" for reason, n in lost.items()) or "–" for lost in (stage.dropped, stage.rejected)]
    return f"| {stage.stage} | {stage.entered:,} | {stage.left:,} | {gone[0]} | {gone[1]} |"


def snippets(kind: str) -> dict[str, str]:
    """Return lines of Python by the tool that they read a dataset with; of torch only for rows.

    >>> list(snippets("pairs")), list(snippets("documents"))
    (['datasets', 'torch', 'polars', 'duckdb'], ['datasets', 'polars', 'duckdb'])
    """
    torch = {"torch": _TORCH} if kind == "pairs" else {}
    return {"datasets": _DATASETS, **torch, "polars": _POLARS, "duckdb": _DUCKDB}
