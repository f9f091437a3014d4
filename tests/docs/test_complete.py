"""The reference has every public name, field, exit code and key of a manifest, and the site builds without warnings."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from pages import DOCS, hook

import bertdata
from bertdata import errors
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig
from bertdata.dataset import manifest_records, manifest_types

pytestmark = pytest.mark.long


def page(name: str) -> str:
    """Return a page of the reference, with the parts that are generated from the code."""
    parts = hook("reference").PARTS
    text = (DOCS / "reference" / name).read_text(encoding="utf-8")
    return re.sub(r"<!-- made of the code: ([a-z ]+) -->", lambda mark: str(parts[mark[1]]()), text)


def test_every_field_of_a_configuration() -> None:
    text = page("configuration.md")
    kinds = [getattr(bertdata, name) for name in bertdata.__all__ if name.endswith("Config")]
    for kind in [*kinds, TrainConfig, OptimizerConfig, Phase]:
        names = [
            field.name for field in dataclasses.fields(kind) if field.metadata.get("option") or kind in (OptimizerConfig, Phase)
        ]
        assert not [name for name in names if f"| `{name}` |" not in text], kind


def test_every_exit_code() -> None:
    text = page("exit-codes.md")
    for kind in (kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)):
        assert re.search(rf"^\| {kind.exit_code} \|.*`{kind.__name__}`", text, re.M), kind
    assert all(f"\n| {code} |" in text for code in (0, 129, 130, 143))


def test_every_public_name() -> None:
    named = re.findall(r"^::: bertdata\.(\w+)$", page("python.md"), re.M)
    assert sorted([*named, "__version__"]) == bertdata.__all__, "reference/python.md needs a line `::: bertdata.NAME`"


def test_every_key_of_a_manifest() -> None:
    named = set(re.findall(r"`(\w+)`", page("manifest.md")))
    records = (
        *manifest_types.KINDS.values(),
        manifest_records.SourceEntry,
        manifest_records.Coverage,
        manifest_records.Statistics,
    )
    keys = {key for record in records for key in record.__struct_encode_fields__}
    assert keys - named - {"not_next_share", "swapped_share", "documents"} == set()


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {
        path.relative_to(tmp_path / "site").as_posix(): path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")
    }
    assert "min_characters" in pages["reference/configuration.html"]
    for text in pages.values():  # the site loads nothing from other servers
        assert not re.search(r'(?:src|href)="https?://(?!squidfunk\.github\.io)[^"]*\.(?:js|css|woff2?)"', text)
