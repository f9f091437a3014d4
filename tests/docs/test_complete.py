"""The reference has every public name, field, exit code and key of a manifest, and the site builds without warnings."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY
from pages import DOCS, hook

import bertdata
from bertdata import errors
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig
from bertdata.dataset import manifest_records, manifest_types
from bertdata.stages.selection.choose import REASONS

pytestmark = pytest.mark.long
REASON_AT = {"Reject": 1, "Drop": 0, "reject": 0, "Unreadable": 0, "Damage": 2}  # the argument of these calls that is a reason


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
    for kind in (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.BertDataError)):
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


def reasons() -> Iterator[str]:
    """Yield the reasons that stand as constants in calls."""
    for pattern in ("sources/**/*.py", "stages/corpus/**/*.py", "text/filters.py"):
        for path in (REPOSITORY / "bertdata").glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and len(node.args) > REASON_AT.get(name, 99):
                    values = ast.walk(node.args[REASON_AT[name]])
                    yield from (
                        value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
                    )


def test_every_reason_and_no_other() -> None:
    documented = {
        name for cell in re.findall(r"^\| (`.*?`) \|", page("reasons.md"), re.M) for name in re.findall(r"`([^`]+)`", cell)
    }
    known = {*reasons(), *REASONS} - {"-stream"}  # a suffix that is removed
    assert len(known) > 25 and known <= documented, known - documented
    code = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "bertdata").rglob("*.py"))
    assert [name for name in documented if f'"{name}"' not in code] == []


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
