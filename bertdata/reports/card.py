"""Write a dataset's README.md: its contents, how to read it, where its text comes from, and how it was made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..config import OBJECTIVES
from ..config.input_kinds import PROJECTS, WIKI_LICENCE
from ..dataset.manifest_records import Input, RowFile, SourceEntry
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, ReadableManifest
from ..pieces import BERT_TOKENS, ROLES, word_rule
from .summary import count
from .templates import render
from .vocabulary_warnings import has_spaces, text_by_language

_DUMP_NAME = re.compile(r"([a-z0-9_]{1,60})-([0-9]{4})(0[1-9]|1[0-2])([0-3][0-9])-")  # wiki, year, month and day
_DOCUMENTS = "One document per row: its sentences in order, and where paragraphs start."
_TEXTS = "One document per row: its text, with empty lines between paragraphs."
_TITLES = {"documents": "Documents", "pairs": "Rows"}
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B")
_HUB_LICENCES = {"CC0": "cc0-1.0", "MIT": "mit", "CC BY 4.0": "cc-by-4.0", "CC BY-SA 4.0": "cc-by-sa-4.0"}  # the Hub's names
_TAG = re.compile(r"[a-z0-9-]{1,40}")


def reading_line(directory: str) -> str:
    """Return the line of Python that reads a dataset."""
    files = json.dumps(f"{directory}/data/train-*.arrow", ensure_ascii=False)
    return f'datasets.load_dataset("arrow", data_files={files}, split="train")'


def write(manifest: ReadableManifest, export: ExportManifest | None = None) -> str:
    """Return the card, with the front matter that `datasets` and the Hub read; `export` is the manifest of a Parquet export."""
    inputs, shown = inputs_of(manifest), export or manifest
    sources = (manifest if isinstance(manifest, CorpusManifest) else manifest.corpus).sources
    tokens = manifest.tokens if isinstance(manifest, PairsManifest) else {}
    languages = text_by_language(sources)
    order = sorted(languages, key=lambda code: -languages[code]["characters"])
    codes = dict.fromkeys(re.split("[-_]", code)[0] for code in order)
    masks = isinstance(manifest, CorpusManifest) or OBJECTIVES[manifest.settings.objective].masks
    causal = isinstance(manifest, CorpusManifest) or not masks
    splits = dict.fromkeys(shard.name.removeprefix("data/").partition("-")[0] for shard in shown.shards)
    return render(
        "card.md",
        licences=json.dumps(sorted({_hub_licence(entry) for entry in inputs}) or ["unknown"]),
        codes=json.dumps([code for code in codes if re.fullmatch("[a-z]{2,3}", code) and code != "und"]),
        size_category=_SIZES[min(max(len(str(shown.rows)) - 3, 0), len(_SIZES) - 1)],
        tasks=json.dumps(["fill-mask"] * masks + ["text-generation"] * causal),
        tags=json.dumps(["bertdata", "pretraining", *(source for source in sources if _TAG.fullmatch(source))]),
        digest=_digest(shown.shards),
        splits=list(splits) or ["train"],
        suffix="parquet" if export else "arrow",
        title=_TITLES[manifest.kind],
        description=[_TEXTS if export else _DOCUMENTS] if isinstance(manifest, CorpusManifest) else list(_of_rows(manifest)),
        versions=shown.versions,
        rows=shown.rows,
        shards=count(len(shown.shards), "shard"),
        torch=isinstance(manifest, PairsManifest) and not export,
        inputs=inputs,
        further_inputs=manifest.corpus.further_inputs if isinstance(manifest, PairsManifest) else 0,
        wiki=any(WIKI_LICENCE in entry.licence for entry in inputs),
        kind=manifest.kind,
        books=any(entry.source == "books" for entry in inputs),
        counts=[*manifest.counts, *(export.counts if export else ())],
        amounts=amounts(sources, tokens),
        tokens=tokens,
        settings=settings(manifest),
    )


def _hub_licence(entry: Input) -> str:
    """Return the Hub's name of an input's licence, or ``other``."""
    if entry.licence == WIKI_LICENCE:
        return "cc-by-sa-4.0" if entry.source == "wikipedia" else "cc"
    return _HUB_LICENCES.get(entry.licence, "other")


def _digest(shards: Sequence[RowFile]) -> str:
    """Hash the shards' names and digests.

    `datasets` names its cache by a directory's last part and by `configs:`, not by the rows: without this
    digest, two datasets called ``corpus`` would have one cache, and the second one would be read as the rows of the first.
    """
    text = json.dumps([[shard.name, shard.sha256] for shard in shards])
    return hashlib.sha256(text.encode()).hexdigest()


def _of_rows(manifest: PairsManifest) -> Iterator[str]:
    """Describe rows: their form, columns and masks, the share of unknown tokens, and the vocabulary."""
    config, statistics = manifest.settings, manifest.statistics
    # Special tokens without characters that would end a code span
    roles = {role: "".join(c for c in token if c.isprintable() and c != "`") for role, token in manifest.special_tokens.items()}
    form = OBJECTIVES[config.objective].summary
    for role in ("cls", "sep"):
        form = form.replace(BERT_TOKENS[role], roles.get(role, BERT_TOKENS[role]))
    yield f"{form} Rows are not padded."
    unknown = f"`{roles['unk']}`" if "unk" in roles else "unknown"
    yield f"{statistics.unknown_share:.4%} of the text tokens are {unknown}."
    if statistics.parts is not None:
        yield (
            f"Rows are packed: {1 - statistics.padding_share:.2%} of {config.max_seq_length} positions are filled, with "
            f"{statistics.parts:,} segments of the form above, which begin at `document_starts`. A model must not attend from "
            "one segment to another: `bertdata.batches` with `for_model` prevents it, other trainers need rows without `--pack`."
        )
    if config.masking == "static":
        yield (
            f"Rows are masked: {statistics.masked_share:.2%} of their tokens, at most {statistics.max_predictions} per row. "
            "`masked_lm_positions` has the positions, `masked_lm_labels` the original ids."
        )
    if config.chinese_words != "none":
        yield f"`continues_word` marks the tokens that continue a word ({config.chinese_words})."
    named = ", ".join(f"{role} `{roles[role]}`" for role in ROLES if role in roles)
    files = " and ".join(f"`{file.name}`" for file in manifest.files)
    sentence = f"The vocabulary of {manifest.vocab_size:,} tokens is in {files}. Special tokens: {named}."
    yield f"{sentence} {word_rule(manifest.word_mark)}"


class Amount(NamedTuple):
    """The text of a source in a language, as shown; `share` is that of the characters."""

    source: str
    language: str
    figures: list[str]
    share: float


def amounts(sources: dict[str, SourceEntry], tokens: dict[str, dict[str, int]] | None) -> list[Amount]:
    """Return documents, words, characters and tokens by source and language. Languages without spaces have no words to count."""
    total = sum(counts["characters"] for counts in text_by_language(sources).values()) or 1
    found = []
    for source, entry in sources.items():
        for code, text in entry.languages.items():
            words = f"{text.words:,}" if has_spaces(code) else "–"
            figures = [f"{text.documents:,}", words, f"{text.characters:,}"]
            figures += [f"{tokens.get(source, {}).get(code, 0):,}"] if tokens else []
            found.append(Amount(source, code or "unknown", figures, text.characters / total))
    return found


def settings(manifest: Manifest) -> list[tuple[str, Any]]:
    """Return the settings that a dataset was made with, those of nested configurations too, without empty ones."""
    nested = [value.items() if isinstance(value, dict) else [(name, value)] for name, value in manifest.config.items()]
    return [(name, _named(value)) for group in nested for name, value in group if value not in ("", [], None)]


def _named(value: Any) -> Any:
    """Return the names of files and functions without their digests, or the value."""
    is_named = isinstance(value, list) and all(isinstance(each, dict) and "name" in each for each in value)
    return ", ".join(each["name"] for each in value) if is_named else value


def inputs_of(manifest: Manifest) -> Sequence[Input]:
    """Return the inputs of a corpus, or of the corpus of rows."""
    return manifest.corpus.inputs if isinstance(manifest, PairsManifest) else manifest.inputs


def source_names(manifest: Manifest) -> list[str]:
    """Name the sources of a corpus, or of the corpus of rows: dumps with their dates, and others. Empty if unknown."""
    names = []
    for entry in inputs_of(manifest):
        match = _DUMP_NAME.match(entry.name.rpartition("/")[2]) if entry.source in PROJECTS else None
        names.append(f"{match[1]} {match[2]}-{match[3]}-{match[4]}" if match else entry.source)
    return list(dict.fromkeys(names))
