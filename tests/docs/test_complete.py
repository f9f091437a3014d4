"""The reference leaves nothing out: commands, options, configurations, exit codes, public names, columns, keys of manifests."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from pages import DOCS, hook

import bertdata
from bertdata import errors
from bertdata.cli import cli
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig
from bertdata.dataset import manifest_records, manifest_types

pytestmark = pytest.mark.long

REFERENCE = hook("reference")


def page(name: str) -> str:
    """Return a page of the reference, with what is made of the code in it."""
    text = (DOCS / "reference" / name).read_text(encoding="utf-8")
    return re.sub(r"<!-- made of the code: ([a-z ]+) -->", lambda mark: str(REFERENCE.PARTS[mark[1]]()), text)


def test_every_field_of_a_configuration() -> None:
    text = page("configuration.md")
    kinds = [getattr(bertdata, name) for name in bertdata.__all__ if name.endswith("Config")]
    for kind in kinds:
        assert kind.__name__ in text
        section = text.partition(f"### {kind.__name__}\n")[2].partition("\n### ")[0]
        names = [field.name for field in dataclasses.fields(kind) if field.metadata.get("option")]
        assert all(f"| `{name}` |" in section for name in names), kind


TABLES = {OptimizerConfig: "[optimizer]", Phase: "[[phases]]"}


@pytest.mark.parametrize("kind", [TrainConfig, *TABLES])
def test_every_key_of_a_training_run(kind: Any) -> None:
    text = page("configuration.md").partition("## A training run")[2]
    begin = {TrainConfig: 0, **{each: text.index(f"\n`{name}`") for each, name in TABLES.items()}}
    section = text[begin[kind] : min([place for place in begin.values() if place > begin[kind]], default=None)]
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", section, re.M))
    for field in dataclasses.fields(kind):
        if field.name in ("model", "optimizer", "phases"):
            assert f"[{field.name}]" in text
        else:
            assert field.name in told, field.name
            default = {(): "[]", dataclasses.MISSING: "", None: ""}.get(field.default, json.dumps(field.default, default=str))
            assert told[field.name] == default, field.name
    assert told.keys() - {"key"} <= {field.name for field in dataclasses.fields(kind)}


def test_every_exit_code() -> None:
    text, help = page("exit-codes.md"), cli.get_help(click.Context(cli))
    kinds = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)]
    for kind in kinds:
        row = next(line for line in text.splitlines() if f"`{kind.__name__}`" in line and line.startswith("|"))
        assert row.startswith(f"| {kind.exit_code} |")
    prose = text.partition("| code |")[0].partition("The exit code is")[2]
    for code in {0, *(kind.exit_code for kind in kinds), 129, 130, 143}:
        assert f"\n| {code} |" in text and re.search(rf"\b{code}\b", prose) and re.search(rf"\b{code}\b", help), code


def test_every_public_name() -> None:
    told = re.findall(r"^::: bertdata\.(\w+)$", page("python.md"), re.M)
    assert sorted([*told, "__version__"]) == bertdata.__all__, "reference/python.md needs a line `::: bertdata.NAME`"


def test_every_key_of_a_manifest(sample_corpus: Path, sample_vocab: Path, sample_pairs: Path) -> None:
    told = set(re.findall(r"`(\w+)`", page("manifest.md")))
    made = [
        json.loads((path / "manifest.json").read_text(encoding="utf-8")) for path in (sample_corpus, sample_vocab, sample_pairs)
    ]
    records = (
        *manifest_types.KINDS.values(),
        manifest_records.SourceEntry,
        manifest_records.Coverage,
        manifest_records.Statistics,
    )
    keys = {key for record in records for key in record.__struct_encode_fields__}
    keys |= {key for manifest in made for key in (*manifest, *manifest.get("statistics", {}), *manifest["inputs"][0])}
    assert keys - told - {"not_next_share", "swapped_share", "documents"} == set()
