"""Compare extractors of prose side by side on real pages.

    python benchmarks/extraction.py                        English pages of ../shared/extraction, of 2022 and of 2014
    python benchmarks/extraction.py --sources all          every page there

A page is a line of JSON with ``wikitext``, ``title``, ``language``, ``source`` and the ``paragraphs`` that MediaWiki rendered
with all templates empty, so inline templates cost precision here but not in practice.  The extractors process every
page in turn, `--rounds` times. MB/s is wikitext per CPU second, for the first round and for each page's best round.
wordF1, paraF1 and residue (per 10,000 words) are measured with the functions of `--scorer`.

Peers that are not installed are skipped and named: ``pip install -e '.[peers]'`` installs them.
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
from typing import Any, NamedTuple

from ratios import ratio

from bertdata.text.wikitext import extract_paragraphs, load_templates

SIZES = {
    "tiny": ["--pages {pages} --rounds 1"],
    "small": ["--pages {pages} --rounds 2"],
    "full": ["--pages {pages} --rounds 3"],
}
SHARED = Path(__file__).resolve().parents[2] / "shared"
PAGES = SHARED / "extraction" / "dev_pages.jsonl.xz"
SCORER = SHARED / "tools" / "score_extraction.py"
SHORTEST = 5  # minimum words of a paragraph compared as a unit

Page = dict[str, Any]
Extract = Callable[[Page], list[str]]


def main() -> int:
    """Measure and print the tables. Return the exit code."""
    options = _options()
    if not options.pages.is_file():
        sys.exit(f"extraction.py: no pages at {options.pages}. Pass a .jsonl or .jsonl.xz file with --pages")
    pages = _read(options.pages, options.sources.split(","))
    if not pages:
        sys.exit(f"extraction.py: {options.pages} has no page of {options.sources}: use sources it has with --sources, or 'all'")
    _compare(pages, options.rounds, _load(options.scorer) if options.scorer.is_file() else None)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--pages", type=Path, default=PAGES, help="pages to extract  [default: ../shared/extraction/dev_pages.jsonl.xz]")
    add("--sources", default="en22,en14", help="sources of the pages, with commas between, or 'all'  [default: en22,en14]")
    add("--rounds", type=int, default=3, help="how often each extractor takes each page  [default: 3]")
    add("--scorer", type=Path, default=SCORER, help="file with the measures  [default: ../shared/tools/score_extraction.py]")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: use at least 1")
    return options


def _read(path: Path, sources: list[str]) -> list[Page]:
    """Return the pages of these sources."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        pages = map(json.loads, lines)
        return [page for page in pages if sources == ["all"] or page["source"] in sources]


def _load(path: Path) -> Any:
    """Import the file with the scoring functions."""
    spec = importlib.util.spec_from_file_location("scorer", path)
    if spec is None or spec.loader is None:
        sys.exit(f"extraction.py: {path} is not a Python file. Pass one with --scorer")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The extractors: each builds a function from a page to its paragraphs, or raises ImportError.


def _plain() -> Extract:
    return lambda page: extract_paragraphs(page["wikitext"], title=page["title"], language=page["language"])


def _with_templates() -> Extract:
    load = functools.cache(load_templates)

    def extract(page: Page) -> list[str]:
        language = page["language"]
        return extract_paragraphs(page["wikitext"], title=page["title"], language=language, templates=load(language))

    return extract


def _wikiextractor() -> Extract:
    extractor = importlib.import_module("wikiextractor.extract").Extractor
    logging.disable(logging.WARNING)  # it logs many warnings for real pages

    def extract(page: Page) -> list[str]:
        reader = extractor("1", "1", "https://x.org/wiki", page["title"], [page["wikitext"]])
        return _lines(reader.clean_text(page["wikitext"], expand_templates=False, html_safe=False))

    return extract


def _mwparserfromhell() -> Extract:
    parse = importlib.import_module("mwparserfromhell").parse
    return lambda page: _lines(parse(page["wikitext"]).strip_code())


def _lines(text: str | list[str]) -> list[str]:
    return [line for line in (text.split("\n") if isinstance(text, str) else text) if line]


EXTRACTORS: dict[str, Callable[[], Extract]] = {
    "bertdata, templates off": _plain,
    "bertdata, templates on": _with_templates,
    "wikiextractor": _wikiextractor,
    "mwparserfromhell": _mwparserfromhell,
}


class _Times(NamedTuple):
    """CPU seconds of one extractor: the total of the first round, and the best of each page."""

    first: float
    best: float


def _compare(pages: list[Page], rounds: int, scorer: Any) -> None:
    """Time and score every installed extractor, and print the table."""
    ready: dict[str, Extract] = {}
    for name, build in EXTRACTORS.items():
        try:
            ready[name] = build()
        except ImportError as error:
            print(f"{name} is left out: {error} (pip install -e '.[peers]' brings it)", file=sys.stderr)
    size = sum(len(page["wikitext"].encode()) for page in pages)
    print(f"{len(pages)} pages, {size / 1e6:.2f} MB of wikitext, {rounds} rounds, one process")
    times = _time(ready, pages, rounds)
    if scorer is None:
        print("no file with the measures: speed only (--scorer)", file=sys.stderr)
    head = f"{'':26}{'MB/s':>8}{'first':>8}{'ratio':>8}"
    print(head + (f"{'wordF1':>9}{'paraF1':>8}{'residue':>9}{'raised':>8}" if scorer else ""))
    own = next(iter(times))
    scores = {name: _score(extract, pages, scorer) for name, extract in ready.items()} if scorer else {}
    for name, (first, best) in times.items():
        cells = "{:9.4f}{:8.4f}{:9.2f}{:8}".format(*scores[name]) if scorer else ""
        print(f"{name:26}{size / 1e6 / best:8.2f}{size / 1e6 / first:8.2f}{times[own].best / best:8.2f}{cells}")
    for name in (name for name in times if not name.startswith("bertdata")):
        ratio(
            "extracting prose from Wikipedia pages, one core",
            size / 1e6 / times[own].best,
            "MB/s",
            name,
            size / 1e6 / times[name].best,
        )
        if scorer:
            ratio("extracted words compared with MediaWiki's rendering", scores[own].words, "F1", name, scores[name].words)


def _time(extractors: dict[str, Extract], pages: list[Page], rounds: int) -> dict[str, _Times]:
    """Pass every page to each extractor in turn, so that other load on the machine affects all equally."""
    seconds: dict[str, list[list[float]]] = {name: [[] for _ in pages] for name in extractors}
    for extract in extractors.values():
        _try(extract, pages[0])  # one-time loading must not count for a page
    for _ in range(rounds):
        for place, page in enumerate(pages):
            for name, extract in extractors.items():
                gc.collect(0)  # an extractor must not pay for another's garbage
                start = process_time()
                _try(extract, page)
                seconds[name][place].append(process_time() - start)
    return {name: _Times(sum(row[0] for row in rows), sum(map(min, rows))) for name, rows in seconds.items()}


def _try(extract: Extract, page: Page) -> list[str] | None:
    """Return the paragraphs of a page, or None if the extractor raises."""
    try:
        return extract(page)
    except Exception:
        return None


class _Scores(NamedTuple):
    """F1 of words and of long paragraphs, markup left per 10,000 words, and pages at which the extractor raised."""

    words: float
    paragraphs: float
    residue: float
    raised: int


def _score(extract: Extract, pages: list[Page], scorer: Any) -> _Scores:
    """Score an extractor over all words and all long paragraphs of the pages."""
    words, paragraphs = Counter[str](), Counter[str]()
    residue = raised = 0
    for page in pages:
        found = _try(extract, page)
        raised += found is None
        got = [tidy for text in found or [] for line in text.split("\n") if (tidy := scorer.tidy(line))]
        words += _overlap(*(scorer.words(" ".join(side)) for side in (page["paragraphs"], got)))
        paragraphs += _overlap(*(_long(side, scorer) for side in (page["paragraphs"], got)))
        residue += sum(len(pattern.findall("\n".join(got))) for _, pattern in scorer.RESIDUE)
    return _Scores(_f1(words), _f1(paragraphs), 1e4 * residue / max(1, words["got"]), raised)


def _long(paragraphs: list[str], scorer: Any) -> list[str]:
    return [paragraph for paragraph in paragraphs if len(scorer.words(paragraph)) >= SHORTEST]


def _overlap(want: list[str], got: list[str]) -> Counter[str]:
    return Counter(hits=sum((Counter(want) & Counter(got)).values()), want=len(want), got=len(got))


def _f1(counts: Counter[str]) -> float:
    return 2 * counts["hits"] / max(1, counts["want"] + counts["got"])


if __name__ == "__main__":
    sys.exit(main())
