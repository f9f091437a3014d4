"""Extend mkdocs: pages from the root of the repository, links that work in both places, and generated parts.

Links in the pages are those of the repository, so that they work where it is read as files.  Here a link to README.md leads to
the first page, one to a page of the root, such as CONTRIBUTING.md, to that page, and one to another file to a copy of the file.
`<!-- made of the code: NAME -->` in a page is replaced by what `reference.PARTS` makes of that name.
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
PAGES = {
    "README.md": "index.md",
    "README.zh-CN.md": "zh.md",
    **{name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")},
}
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
_MARK = re.compile(r"<!-- made of the code: ([a-z ]+) -->")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and the files of the repository that pages link to."""
    for name, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / name)))
    for file in list(files.documentation_pages()):
        for target in _targets(file):
            path = ROOT / target
            if target not in PAGES and not target.startswith("docs/") and path.is_file() and target not in files.src_uris:
                files.append(File.generated(config, target, abs_src_path=str(path)))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, the list of the pages for language models (https://llmstxt.org)."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for section in config.nav or []:
        ((title, pages),) = section.items()
        lines += [f"## {title}", "", *(f"- [{_title(name)}]({name.removesuffix('.md')}.html)" for name in _names(pages)), ""]
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _names(pages: Any) -> list[str]:
    """Return the files of a section of the navigation, with those of its subsections."""
    if isinstance(pages, str):
        return [pages]
    inner = pages.values() if isinstance(pages, dict) else pages
    return [name for each in inner for name in _names(each)]


def _title(name: str) -> str:
    """Return the heading of a page."""
    source = next((each for each, place in PAGES.items() if place == name), f"docs/{name}")
    text = (ROOT / source).read_text(encoding="utf-8")
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


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


def _targets(file: File) -> list[str]:
    return [_in_repository(file, link[2]) for link in _LINK.finditer(file.content_string)]
