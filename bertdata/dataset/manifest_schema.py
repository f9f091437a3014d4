"""Check what a manifest has, by its kind: fields and their types, bounds, and what must agree before anyone reads a file.

`schema_problem` is the one function that checks that.  So whoever reads a manifest may take its values as they are.

    schema_problem({"bertdata": 1, "kind": "pairs", …, "vocab_size": -3})      # "vocab_size is not a whole number"
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..config import CONFIGS, LABEL_1, PairsConfig
from ..config.base import TYPE_NAMES, type_problem
from ..errors import UsageError

__all__ = ["CARD", "FORMAT", "LISTS", "VOCABULARIES", "schema_problem"]

FORMAT = 1  # raised when a reader of the old form would misread the new one
CARD = "README.md"
LISTS = ("shards", "rejects", "drops", "files")  # keys that hold the entries of files
# The files of a vocabulary: of WordPiece as in BERT, and of any other kind.
VOCABULARIES = (("vocab.txt", "tokenizer.json", "tokenizer_config.json"), ("tokenizer.json", "tokenizer_config.json"))
_FILE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*|data/\.num_samples\.json")
# in one folder at most, none hidden but LDDL's list of files
_MOST = 1 << 63  # over all counts
_BATCH = 256  # bytes: each record batch takes more (680 where it is empty)


@dataclass(frozen=True)
class _Object:
    """An object with these fields; others are not looked at."""

    fields: dict[str, Any]
    optional: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Each:
    """A list, or with `named` an object, whose values have one form."""

    form: Any
    named: bool = False


_FILE = {"name": str, "bytes": int, "sha256": str}
_ROWS = {**_FILE, "rows": int}
_COUNTS = _Each(int, named=True)
_ALL = {
    "bertdata": int,
    "kind": str,
    "versions": _Each(str, named=True),
    "config": _Object({}),
    "inputs": _Each(
        _Object(
            {"name": str, "bytes": int, "source": str, "licence": str},
            {"sha256": str, "pieces": int, **dict.fromkeys(("cut", "date", "checksum", "index", "documents"), str)},
        )
    ),
    "rows": int,
    "counts": _Each(_Object({"stage": str, "in": int, "out": int, "dropped": _COUNTS, "rejected": _COUNTS})),
}
_SOURCE = _Object(
    {"documents": int, "text_bytes": int, "share": float},
    {
        **dict.fromkeys(("words", "characters", "trimmed_documents", "removed_paragraphs", "removed_words"), int),
        "languages": _Each(_Object(dict.fromkeys(("documents", "words", "characters"), int)), named=True),
        "dropped_marks": _COUNTS,
        "apparatus": _Object({"characters": int, "kept": int, "dropped": _COUNTS}),
    },
)
_COVERAGE = _Object(
    {
        "words": int,
        **dict.fromkeys(("unknown_share", "split_share", "pieces_per_word"), float),
        "longest_split": _Each(str, named=True),
    }
)
_OF_KIND: dict[str, dict[str, Any]] = {
    "documents": {
        "sources": _Each(_SOURCE, named=True),
        "shards": _Each(_Object({**_ROWS, "batches": int, "text_bytes": int})),
        "rejects": _Each(_Object(_ROWS)),
        "drops": _Each(_Object(_ROWS)),
        "dropped_templates": _Object({"calls": int, "most_frequent": _Each((str, int))}, {"examples": _Each(str, named=True)}),
        "formulas": _Object({**dict.fromkeys(("found", "written", "dropped", "left_out"), _COUNTS), "dropped_sentences": int}),
        "card": _Object(_FILE),
    },
    "vocabulary": {
        "size": int,
        "sample": _Object({"share": float, "bytes": int, "words": int, "distinct_words": int}),
        "coverage": _Each(_COVERAGE, named=True),
        "files": _Each(_Object(_FILE)),
        "shards": _Each(_Object(_ROWS)),
    },
    "pairs": {
        "vocab_size": int,
        "files": _Each(_Object(_FILE)),
        "shards": _Each(_Object({**_ROWS, "batches": int})),
        "card": _Object(_FILE),
    },
    "export": {
        "of": str,
        "files": _Each(_Object(_FILE)),
        "shards": _Each(_Object(_ROWS)),
    },
}
_OF_PAIRS = {  # what a manifest of pairs may have: of its corpus, and of a vocabulary that is not BERT's
    "corpus": _Object(
        {
            "rows": int,
            "counts": _ALL["counts"],
            "sources": _Each(_SOURCE, named=True),
            "inputs": _Each(_Object(dict.fromkeys(("name", "source", "licence"), str))),
            "further_inputs": int,
        }
    ),
    "tokens": _Each(_COUNTS, named=True),
    "unknown_tokens": _Each(_COUNTS, named=True),
    "pairings": _Each(_Each(_Object(dict.fromkeys(("pairs", "not_next", "other"), int)), named=True), named=True),
    "special_tokens": _Each(str, named=True),
    "different_ids": _Object({"tasks": int, "text": str}),
    "word_mark": str,
}
_OPTIONAL: dict[str, dict[str, Any]] = {"pairs": _OF_PAIRS, "documents": {"ignored_files": _Each(_COUNTS, named=True)}}
_OPTIONS = {  # of the first manifests; one that came later may be missing, and then has its default
    "documents": ("definition_lists", "variant", "language", "filters", "exclude", "choice", "format"),
    "vocabulary": ("size", "lowercase", "strip_accents", "layout", "seed"),
    "pairs": ("objective", "max_seq_length", "dupe_factor", "provenance", "masking", "chinese_words", "format", "seed"),
    "export": ("to", "split"),
}


def schema_problem(contents: dict[str, Any]) -> str:
    """Name the first field that is missing or has an impossible value, and say what is wrong; nothing where all are right."""
    if problem := _differs("", contents, _Object(_ALL)):
        return problem
    if contents["bertdata"] != FORMAT:
        return f"bertdata is not {FORMAT}"
    if contents["kind"] not in _OF_KIND:
        return f"kind is none of {', '.join(_OF_KIND)}"
    if problem := _differs("", contents, _Object(_OF_KIND[contents["kind"]], _OPTIONAL.get(contents["kind"], {}))):
        return problem
    more = {"pairs": _pairs, "export": _export}.get(contents["kind"])
    problems = (_names(contents), _config(contents), _rows(contents), *([more(contents)] if more else []))
    return next((problem for each in problems for problem in each), "")


def _differs(where: str, value: Any, form: Any) -> str:
    """Say what is not of a form: a type, a pair of them, an object or a list."""
    if isinstance(form, type):
        return "" if _is(value, form) else f"{where} is not {TYPE_NAMES[form]}"
    if isinstance(form, _Object):
        if type(value) is not dict:
            return f"{where} is not an object"
        dot = f"{where}." if where else ""
        forms = [*form.fields.items(), *((key, form_of) for key, form_of in form.optional.items() if key in value)]
        return next((p for key, form_of in forms if (p := _differs(f"{dot}{key}", value.get(key), form_of))), "")
    if isinstance(form, _Each):
        if type(value) is not (dict if form.named else list):
            return f"{where} is not {'an object' if form.named else 'a list'}"
        values: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        return next((p for key, each in values if (p := _differs(_at(where, key), each, form.form))), "")
    pair = type(value) is list and len(value) == len(form) and all(map(_is, value, form))
    return "" if pair else f"{where} is not {' and '.join(TYPE_NAMES[each] for each in form)}"


def _is(value: Any, kind: type) -> bool:
    if kind is str:
        return type(value) is str
    if kind is int:
        return type(value) is int and 0 <= value < _MOST
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < _MOST


def _at(where: str, key: Any) -> str:
    return f"{where}[{key}]" if isinstance(key, int) else f"{where}.{ascii(key)[1:-1][:100]}"


def _names(contents: dict[str, Any]) -> Iterator[str]:
    """Check that names are of files in the directory, each named once."""
    seen: Counter[str] = Counter()
    for key in LISTS:
        entries = contents.get(key, [])
        if problem := _differs(key, entries, _Each(_Object(_FILE))):
            yield problem
            return
        for entry in entries:
            name = entry["name"]
            if len(name) > 255 or not _FILE_NAME.fullmatch(name):
                yield f"it names {ascii(name[:100])}, which is no file of a data set; trust nothing of this one"
            seen[name] += 1
    if seen and seen.most_common(1)[0][1] > 1:
        yield "it names a file twice"
    if contents["kind"] in ("vocabulary", "export"):
        if "card" in contents:
            yield f"card is of no {contents['kind']}"
    elif contents["card"]["name"] != CARD:
        yield f"card.name is not {CARD}"
    named = sorted(file["name"] for file in contents["files"]) if contents["kind"] in ("vocabulary", "pairs") else None
    if named is not None and named not in map(sorted, VOCABULARIES):
        yield f"files does not name {', '.join(VOCABULARIES[0])}, or the last two of them"


def _config(contents: dict[str, Any]) -> Iterator[str]:
    """Check that a command may have been given these options."""
    if "bertdata" not in contents["versions"]:
        yield "versions.bertdata is missing"
    yield from _options(contents["kind"], contents["config"])


def _options(name: str, config: dict[str, Any]) -> Iterator[str]:
    kind = CONFIGS[name]
    if missing := next((option for option in _OPTIONS[name] if option not in config), ""):
        yield f"config.{missing} is missing"
    elif problem := type_problem(kind, config):
        yield f"config.{problem}"
    else:
        try:
            kind.of(config)
        except UsageError as error:
            yield f"config can't be: {ascii(str(error))[1:-1][:200]}"


def _rows(contents: dict[str, Any]) -> Iterator[str]:
    if contents["rows"] != (total := sum(shard["rows"] for shard in contents["shards"])):
        yield f"rows is {contents['rows']:,}, but its shards have {total:,}"
    for number, shard in enumerate(contents["shards"]):
        if shard.get("batches", 0) * _BATCH > shard["bytes"]:
            yield f"shards[{number}].batches is {shard['batches']:,}, more than {shard['bytes']:,} bytes hold"


def _export(contents: dict[str, Any]) -> Iterator[str]:
    """Check that an export names the rows that it is made from, and the size of the vocabulary of ids."""
    if contents["of"] not in ("documents", "pairs"):
        yield "of is neither documents nor pairs"
    of_rows = contents["of"] == "pairs"
    if of_rows or contents["config"]["to"] == "megatron":
        yield _differs("", contents, _Object({"vocab_size": int}))
    if of_rows and not (problem := _differs("", contents, _Object({"of_config": _Object({})}))):
        yield from (each.replace("config", "of_config", 1) for each in _options("pairs", contents["of_config"]))
    elif of_rows:
        yield problem


def _pairs(contents: dict[str, Any]) -> Iterator[str]:
    """Check what pairs count, in all and by split, and that the shards are those of the splits."""
    config = PairsConfig.of(contents["config"])
    form: dict[str, Any] = dict.fromkeys(("rows", "documents", "repeated_ids", "tokens"), int)
    form |= dict.fromkeys(("mean_length", "padding_share", "unknown_share"), float)
    if config.pack:
        form |= {"parts": int}
    if name := LABEL_1.get(config.objective):
        form |= {name: int, f"{name}_share": float}
    if config.masking == "static":
        form |= {"masked": int, "masked_share": float, "max_predictions": int}
    splits = _Each(_Object({**form, "shards": int}), named=True)
    if problem := _differs("", contents, _Object({"statistics": _Object(form), "splits": splits})):
        yield problem
        return
    of_splits = ((f"splits.{split}", statistics) for split, statistics in contents["splits"].items())
    for key, statistics in [("statistics", contents["statistics"]), *of_splits]:
        if statistics.get("max_predictions", 0) > config.max_seq_length:
            yield f"{key}.max_predictions is over config.max_seq_length, {config.max_seq_length}"
    if strange := sorted(contents["splits"].keys() - {"train", "validation"}):
        yield f"splits has {ascii(strange[0])[:100]}, which is neither train nor validation"
    counts = {split: statistics["shards"] for split, statistics in contents["splits"].items()}
    if sum(counts.values()) != len(contents["shards"]):
        yield f"splits have {sum(counts.values()):,} shards, but {len(contents['shards']):,} are listed"
        return
    suffix = "parquet" if config.format == "parquet" else "arrow"
    wanted = {f"data/{split}-{i:05d}-of-{n:05d}.{suffix}" for split, n in counts.items() for i in range(n)}
    if strange := sorted(wanted.symmetric_difference(shard["name"] for shard in contents["shards"])):
        yield f"shards are not those of splits: {ascii(strange[0])}"
