"""Real pages against the text that MediaWiki itself rendered of them, with all templates empty."""

import importlib.util
import json
import lzma
from collections import Counter, defaultdict
from functools import cache
from types import ModuleType

import pytest
from conftest import REPOSITORY
from footing import extract_paragraphs

from bertdata.text.wikitext import load_templates

SHARED = REPOSITORY.parent / "shared"
PAGES = SHARED / "extraction" / "dev_pages.jsonl.xz"
SCORER = SHARED / "tools" / "score_extraction.py"
LEAST = {  # wordF1, paraF1
    "ALL": (0.9998, 0.988),
    "en22": (0.9997, 0.984),
    "en14": (0.9995, 0.995),
    "ja22": (0.9999, 0.985),
    "it13": (0.9999, 0.998),
    "zhC": (0.9999, 0.992),
}
pytestmark = pytest.mark.skipif(not PAGES.exists() or not SCORER.exists(), reason="the folder shared/ is not beside the checkout")


def load_scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_extraction", SCORER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def overlap(want: list[str], got: list[str]) -> Counter[str]:
    return Counter(hits=sum((Counter(want) & Counter(got)).values()), want=len(want), got=len(got))


def f1(counts: Counter[str]) -> float:
    return 2 * counts["hits"] / (counts["want"] + counts["got"])


@cache
def score(templates: bool) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]], float]:
    """Return counts of words and of long paragraphs by source, and pieces of markup per 10,000 words."""
    scorer, load = load_scorer(), cache(load_templates)
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    paragraphs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    residue = 0
    with lzma.open(PAGES, "rt", encoding="utf8") as lines:
        for page in map(json.loads, lines):
            language = page["language"]
            table = load(language) if templates else None
            found = extract_paragraphs(page["wikitext"], title=page["title"], language=language, templates=table)
            got = [tidy for tidy in map(scorer.tidy, found) if tidy]
            residue += sum(len(pattern.findall("\n".join(got))) for _, pattern in scorer.RESIDUE)
            sides = page["paragraphs"], got
            word_row = overlap(*(scorer.words(" ".join(side)) for side in sides))
            paragraph_row = overlap(*([p for p in side if len(scorer.words(p)) >= 5] for side in sides))
            for source in (page["source"], "ALL"):
                words[source] += word_row
                paragraphs[source] += paragraph_row
    return words, paragraphs, 10_000 * residue / words["ALL"]["got"]


@pytest.mark.long
def test_score() -> None:
    words, paragraphs, residue = score(templates=False)
    for source, (word_f1, para_f1) in LEAST.items():
        assert f1(words[source]) >= word_f1, source
        assert f1(paragraphs[source]) >= para_f1, source
    assert residue <= 0.2


@pytest.mark.long
def test_templates_add_words_and_lose_none() -> None:
    words, paragraphs, residue = score(templates=True)
    plain, _, _ = score(templates=False)
    assert words["ALL"]["hits"] / words["ALL"]["want"] >= 0.9995
    assert words["en22"]["got"] > 1.004 * plain["en22"]["got"]
    assert words["ALL"]["got"] < 1.03 * plain["ALL"]["got"]
    assert residue <= 0.2
