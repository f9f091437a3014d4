"""Real pages against the text that MediaWiki itself rendered of them."""

import importlib.util
import json
import lzma
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from bertdata.wikitext import extract_paragraphs

SHARED = Path(__file__).resolve().parents[3] / "shared"
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


def load_scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_extraction", SCORER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def overlap(want: Counter[str], got: Counter[str]) -> Counter[str]:
    return Counter(hits=sum((want & got).values()), both=sum(want.values()) + sum(got.values()))


@pytest.mark.skipif(not PAGES.exists() or not SCORER.exists(), reason="the folder shared/ is not beside the checkout")
def test_score() -> None:
    scorer = load_scorer()
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    paragraphs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    residue = count = 0
    with lzma.open(PAGES, "rt", encoding="utf8") as lines:
        for page in map(json.loads, lines):
            found = extract_paragraphs(page["wikitext"], title=page["title"], language=page["language"])
            got = [tidy for tidy in map(scorer.tidy, found) if tidy]
            got_words = scorer.words(" ".join(got))
            residue += sum(len(pattern.findall("\n".join(got))) for _, pattern in scorer.RESIDUE)
            count += len(got_words)
            word_row = overlap(Counter(scorer.words(" ".join(page["paragraphs"]))), Counter(got_words))
            long = [[p for p in side if len(scorer.words(p)) >= 5] for side in (page["paragraphs"], got)]
            for source in (page["source"], "ALL"):
                words[source] += word_row
                paragraphs[source] += overlap(Counter(long[0]), Counter(long[1]))
    for source, (word_f1, para_f1) in LEAST.items():
        assert 2 * words[source]["hits"] / words[source]["both"] >= word_f1, source
        assert 2 * paragraphs[source]["hits"] / paragraphs[source]["both"] >= para_f1, source
    assert 10_000 * residue / count <= 0.2
