"""In a notebook Beam looks for cells, and imports what a library does not want; our pipelines run there as anywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import apache_beam
import pytest
from conftest import SAMPLE

import bertdata

pytestmark = pytest.mark.nightly


def test_a_corpus_is_built_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(config={"IPKernelApp": {}}, execution_count=3)
    notebook: Any = ModuleType("IPython")
    notebook.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "apache_beam.runners.interactive", None)  # cannot be imported
    before = apache_beam.pipeline.alter_label_if_ipython
    assert bertdata.build_corpus(books=SAMPLE / "books", output=tmp_path / "corpus", workers=1).rows == 3
    assert apache_beam.pipeline.alter_label_if_ipython is before
