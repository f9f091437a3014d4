"""Every example in a docstring of the package gives what it says, in an empty directory."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
from pathlib import Path

import pytest
from conftest import REPOSITORY

PACKAGE = REPOSITORY / "bertdata"
MODULES = sorted(
    ".".join(["bertdata", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.name != "__main__.py" and ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.slow
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`here` in an example is an empty directory, which is the current one as well."""
    if name.startswith("bertdata.training") and importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), extraglobs={"here": tmp_path})
    assert result.attempted
    assert not result.failed
