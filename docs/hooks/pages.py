"""Extend mkdocs: pages from the root of the repository, links that work in both places, and generated parts.

Links in the pages are those of the repository, so that they also work on GitHub. On the site, a link to README.md leads to the
first page, one to CONTRIBUTING.md to that page, and one to another file to a copy of the file. `<!-- made of the code: NAME -->`
in a page is replaced by what `reference.PARTS` makes of that name.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import reference  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"README.md": "index.md", "README.zh-CN.md": "zh.md"}
PAGES |= {name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
_MARK = re.compile(r"<!-- made of the code: ([a-z ]+) -->")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and the files of the repository that pages link to."""
    for name, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / name)))
    for file in list(files.documentation_pages()):
        for link in _LINK.finditer(file.content_string):
            target = _in_repository(file, link[2])
            path = ROOT / target
            if target not in PAGES and not target.startswith("docs/") and path.is_file() and target not in files.src_uris:
                files.append(File.generated(config, target, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Insert the generated parts, and point links to their pages on the site."""
    markdown = _MARK.sub(lambda mark: reference.PARTS[mark[1]](), markdown)
    here = posixpath.dirname(page.file.src_uri)

    def lead(link: re.Match[str]) -> str:
        target = _in_repository(page.file, link[2])
        place = PAGES.get(target, target.removeprefix("docs/"))
        return f"{link[1]}{posixpath.relpath(place, here)}{link[3] or ''}{link[4]}"

    return _LINK.sub(lead, markdown)


def _in_repository(file: File, link: str) -> str:
    """Return the file of the repository that a link in a page names."""
    source = os.path.relpath(file.abs_src_path or "", ROOT)
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
