"""Compare extractors of prose with MediaWiki's own rendering: speed, words, paragraphs and markup left in the text.

    python benchmarks/extraction.py                        English pages of 2022 and 2014 (needs ../shared/extraction)
    python benchmarks/extraction.py --sources all          pages of all languages there

Each page is a line of JSON with ``wikitext``, ``title``, ``language`` and the ``paragraphs`` that MediaWiki rendered. The first
table has templates off, compared with a MediaWiki whose templates are empty. The second one has templates on, compared with a
MediaWiki that ran them. bertdata drops formulas and keeps introductions of lists, as the truth does. These are development pages:
bertdata's rules were written while looking at them.

All extractors take each page in turn. MB/s is wikitext per CPU second, by the best round of each page.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import importlib.util
import json
import logging
import lzma
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from inputs import SHARED, heading

from bertdata.text.wikitext import extract_paragraphs, load_templates

SHORTEST = 5  # minimum words of a paragraph that is compared as a unit
Page = dict[str, Any]
Extract = Callable[[Page], list[str]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path, default=SHARED / "extraction", help="directory of the pages")
    parser.add_argument("--sources", default="en22,en14", help="sources of the pages, or all  [default: en22,en14]")
    parser.add_argument("--rounds", type=int, default=2, help="how often each extractor takes each page  [default: 2]")
    parser.add_argument("--scorer", type=Path, default=SHARED / "tools" / "score_extraction.py", help="file with the measures")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("scorer", options.scorer)
    assert spec and spec.loader
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    pages = read(options.pages / "dev_pages.jsonl.xz")
    pages = [page for page in pages if options.sources == "all" or page["source"] in options.sources.split(",")]
    print(heading())
    compare("templates off, compared with MediaWiki with empty templates", pages, ("bertdata", *PEERS), options.rounds, scorer)
    rendered = read(options.pages / "dev_pages_templates.jsonl.xz")
    names = ("bertdata, templates on", "bertdata", *PEERS)
    compare("templates on, compared with MediaWiki with its templates", rendered, names, options.rounds, scorer)
    calls, table = read(options.pages / "dev_convert.jsonl.xz"), load_templates("en")
    right: dict[str, list[bool]] = {"real": [], "made": []}
    for row in calls:  # MediaWiki's text has "m2" for m², which `math="drop"` writes too
        found = extract_paragraphs(f"Start {row['call']} end.", title="A", language="en", templates=table, math="drop")
        right["real" if row["kind"] == "real" else "made"].append(scorer.tidy(" ".join(found)) == f"Start {row['shown']} end.")
    real, made = (f"{sum(calls):,} of {len(calls):,}" for calls in right.values())
    print(f"\n{real} calls of {{{{convert}}}} from articles, and {made} made for its units and options, have MediaWiki's words.")


def read(path: Path) -> list[Page]:
    """Read lines of JSON."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


# The extractors: each builds a function from a page to its paragraphs, or raises ImportError.


def _bertdata(templates: bool) -> Extract:
    load = functools.cache(load_templates)

    def extract(page: Page) -> list[str]:
        language = page["language"]
        table = load(language) if templates else None
        return extract_paragraphs(page["wikitext"], title=page["title"], language=language, templates=table, **AS_THE_TRUTH)

    return extract


def _wikiextractor() -> Extract:
    extractor = importlib.import_module("wikiextractor.extract").Extractor
    logging.disable(logging.WARNING)  # it logs many warnings for real pages

    def extract(page: Page) -> list[str]:
        reader = extractor("1", "1", "https://x.org/wiki", page["title"], [page["wikitext"]])
        return list(reader.clean_text(page["wikitext"], expand_templates=False, html_safe=False))

    return extract


def _mwparserfromhell() -> Extract:
    parse = importlib.import_module("mwparserfromhell").parse
    return lambda page: str(parse(page["wikitext"]).strip_code()).split("\n")


AS_THE_TRUTH: dict[str, Any] = {"math": "drop", "list_introductions": "keep"}
PEERS = ("wikiextractor", "mwparserfromhell")
EXTRACTORS: dict[str, Callable[[], Extract]] = {
    "bertdata": functools.partial(_bertdata, False),
    "bertdata, templates on": functools.partial(_bertdata, True),
    "wikiextractor": _wikiextractor,
    "mwparserfromhell": _mwparserfromhell,
}


def compare(title: str, pages: list[Page], names: tuple[str, ...], rounds: int, scorer: Any) -> None:
    """Time and score extractors, and print the table."""
    ready: dict[str, Extract] = {}
    for name in names:
        try:
            ready[name] = EXTRACTORS[name]()
        except ImportError as error:
            print(f"{name} is missing: {error}. Install the extra `peers` of a clone", file=sys.stderr)
    megabytes = sum(len(page["wikitext"].encode()) for page in pages) / 1e6
    print(f"\n{len(pages)} pages, {megabytes:.2f} MB of wikitext; {title}\n")
    print("| | MB/s | word F1 | paragraph F1 | markup left, per 10,000 words | pages that fail |\n|---|---:|---:|---:|---:|---:|")
    seconds = {name: [float("inf")] * len(pages) for name in ready}
    for extract in ready.values():
        attempt(extract, pages[0])  # loads everything that is loaded once
    for _ in range(rounds):
        for number, page in enumerate(pages):
            for name, extract in ready.items():
                gc.collect(0)  # an extractor must not pay for another's garbage
                start = process_time()
                attempt(extract, page)
                seconds[name][number] = min(seconds[name][number], process_time() - start)
    for name, extract in ready.items():
        words, paragraphs, residue, failed = score(extract, pages, scorer)
        print(f"| {name} | {megabytes / sum(seconds[name]):.1f} | {words:.4f} | {paragraphs:.4f} | {residue:.2f} | {failed} |")


def attempt(extract: Extract, page: Page) -> list[str] | None:
    """Return the paragraphs of a page, or None if the extractor raises."""
    try:
        return extract(page)
    except Exception:
        return None


def score(extract: Extract, pages: list[Page], scorer: Any) -> tuple[float, float, float, int]:
    """Return F1 of words and of long paragraphs, markup left per 10,000 words, and the number of pages that raise."""
    words, paragraphs = Counter[str](), Counter[str]()
    residue = failed = 0
    for page in pages:
        found = attempt(extract, page)
        failed += found is None
        got = [tidy for text in found or [] for line in text.split("\n") if (tidy := scorer.tidy(line))]
        words += _overlap(*(scorer.words(" ".join(side)) for side in (page["paragraphs"], got)))
        long = ([text for text in side if len(scorer.words(text)) >= SHORTEST] for side in (page["paragraphs"], got))
        paragraphs += _overlap(*long)
        residue += sum(len(pattern.findall("\n".join(got))) for _, pattern in scorer.RESIDUE)
    return _f1(words), _f1(paragraphs), 1e4 * residue / max(1, words["got"]), failed


def _overlap(want: list[str], got: list[str]) -> Counter[str]:
    return Counter(hits=sum((Counter(want) & Counter(got)).values()), want=len(want), got=len(got))


def _f1(counts: Counter[str]) -> float:
    return 2 * counts["hits"] / max(1, counts["want"] + counts["got"])


if __name__ == "__main__":
    main()
