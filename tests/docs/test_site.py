"""docs/ builds as a site: no warning, each link leads somewhere, and what is made of the code is in it."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.long

for package in ("mkdocs", "material", "mkdocstrings"):
    pytest.importorskip(package, reason="in a clone: pip install '.[docs]'")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {path.relative_to(tmp_path / "site").as_posix(): path for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "zh.html", "reference/configuration.html", "explanation/pairs.html", "CONTRIBUTING.html"} <= made.keys()
    assert "min_characters" in text_of(made["reference/configuration.html"])
    assert "Replace the contents of output once the new corpus is complete." in text_of(made["reference/python.html"])
    assert (tmp_path / "site" / "examples" / "bert-base.toml").is_file(), "a page links to it"
    index = (tmp_path / "site" / "search" / "search_index.js").read_text("utf-8")
    assert index.startswith("var __index = ") and "ModernBERT" in index, "a page of file:// can load a script, and not fetch JSON"
    for path in made.values():
        scripts = re.findall(r'<script[^>]*\ssrc="([^"]*)"', path.read_text("utf-8"))
        assert not [script for script in scripts if "://" in script], "the site fetches nothing from elsewhere"
        assert path.name == "404.html" or scripts[0].endswith("iframe-worker.js")
        assert not re.search(
            r'(?:src|href)="https?://(?!squidfunk\.github\.io)[^"]*\.(?:js|css|woff2?)"', path.read_text("utf-8")
        )


def text_of(path: Path) -> str:
    """Return the text of a page of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))).split())
