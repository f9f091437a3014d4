"""The pages of reports in a real browser, wide and narrow, light and dark: nothing overflows or overlaps, all can be read."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.reports.metrics import Metrics
from bertdata.reports.predicted import NAME as PREDICTIONS
from bertdata.storage.files import write_json

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), "")
pytestmark = [pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt-get install chromium"), pytest.mark.nightly]
WIDTHS, SCHEMES = (1200, 390, 360), ("light", "dark")
LOOK = """
function boxes(svg) { return [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]); }
function overlaps(a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3; }
window.addEventListener('load', async () => {
  const told = {width: innerWidth, page: document.documentElement.scrollWidth, overlap: [], outside: [], small: [], axe: [],
    slivers: [], wide: [],
    dark: matchMedia('(prefers-color-scheme: dark)').matches, paper: getComputedStyle(document.body).backgroundColor};
  for (const svg of document.querySelectorAll('svg')) {
    const own = boxes(svg), frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
    for (const t of svg.querySelectorAll('text'))
      if (parseFloat(getComputedStyle(t).fontSize) * scale < 11) told.small.push(t.textContent);
    for (const [i, [text, box]] of own.entries()) {
      if (box.right > frame.right + 2 || box.left < frame.left - 2) told.outside.push(text);
      for (const [other, at] of own.slice(i + 1)) if (overlaps(box, at)) told.overlap.push(text + ' / ' + other);
    }
  }
  for (const cell of document.querySelectorAll('.tile dd, td, th'))
    if (!cell.closest('[role=group]') && cell.scrollWidth > cell.clientWidth + 1) told.outside.push(cell.textContent);
  for (const mark of document.querySelectorAll('mark'))
    if ([...mark.getClientRects()].some(box => box.width < 6)) told.slivers.push(mark.textContent);
  for (const table of document.querySelectorAll('#sources .scroll, [id^=compare] .scroll'))
    if (table.scrollWidth > table.clientWidth + 1) told.wide.push(table.textContent.slice(0, 80));
  if (window.axe) for (const v of (await axe.run()).violations) told.axe.push(v.id + ': ' + v.nodes[0].html.slice(0, 200));
  parent.postMessage(JSON.stringify(told), '*');
});
"""
ONE_BY_ONE = """<!doctype html><pre></pre><script>
function next() { const [frame] = document.querySelector('template').content.children; if (frame) document.body.append(frame); }
window.addEventListener('message', told => {
  document.querySelector('pre').textContent += told.data + '\\n';
  document.querySelector('iframe').remove();
  next();
});
window.addEventListener('load', next);
</script>
"""  # what is laid out for one frame is laid out for all


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from npm where that can be reached; else nothing, and what it checks is not checked."""
    if npm := shutil.which("npm"):
        root = tmp_path_factory.mktemp("npm")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            install = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4"]
            subprocess.run(install, capture_output=True, timeout=60, check=False)
        source = root / "node_modules" / "axe-core" / "axe.min.js"
        if source.exists():
            return source.read_text(encoding="utf-8")
    return ""


def a_run(path: Path) -> Path:
    """What a training run leaves, with as many figures as there may be."""
    told = {"mlm_loss": 7.1234, "perplexity": 1234.5, "mlm_accuracy": 0.5, "nsp_loss": 0.6931, "nsp_accuracy": 0.5}
    rates = {"sequences_per_second": 1234.5, "tokens_per_second": 98765.4}
    metrics = Metrics(path, 0)
    for step in range(100, 1001, 100):
        metrics.write({"kind": "train", "step": step, **told, **rates})
        metrics.write({"kind": "evaluation", "step": step, **told, "unigram_entropy": 6.5})
    guesses = [["unrepresentative", 0.9123], ["##s", 0.0512], ["the", 0.0021]]
    words = [{"at": at, "truth": "unrepresentative", "shown": "[MASK]", "guesses": guesses} for at in (1, 2)]
    row = {"tokens": 5, "pieces": ["[CLS]", "[MASK]", "[MASK]", "!", "[SEP]"], "words": words}
    row |= {"pairs": [{"truth": "NotNext", "guess": "IsNext", "share": 0.51}]}
    write_json(path / PREDICTIONS, {"step": 1000, "mark": "##", "held_out": True, "special": ["[CLS]", "[SEP]"], "rows": [row]})
    return path


@pytest.fixture(scope="module")
def pages(sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A report of each kind, and one that compares."""
    root = tmp_path_factory.mktemp("pages")
    made = [(path / "report.html").read_text(encoding="utf-8") for path in (sample_corpus, sample_vocab, sample_pairs)]
    made.append(bertdata.report(a_run(root / "run")).read_text(encoding="utf-8"))
    compared = bertdata.report(sample_pairs, sample_pairs, sample_corpus, output=root / "compared.html")
    return [*made, compared.read_text(encoding="utf-8")]


def look(pages: list[str], axe: str, root: Path) -> list[dict[str, Any]]:
    """What a browser sees of pages in each scheme and width; scripts, which a page allows none of, are let in for the test."""
    frames = []
    for number, page in enumerate(pages):
        scripts = "<script src='axe.js'></script><script src='look.js'></script>"
        let_in = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', scripts, page, count=1)
        (root / f"{number}.html").write_text(let_in, encoding="utf-8")
        for scheme, width in product(SCHEMES, WIDTHS):  # a page prefers what its frame has
            style = f"color-scheme:{scheme};width:{width}px;height:900px;border:0"
            frames.append(f'<iframe src="{number}.html" style="{style}"></iframe>')
    (root / "axe.js").write_text(axe, encoding="utf-8")
    (root / "look.js").write_text(LOOK, encoding="utf-8")
    (root / "all.html").write_text(ONE_BY_ONE + f"<template>{''.join(frames)}</template>", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=20000"]
    options += ["--window-size=1400,1000", f"--user-data-dir={root / 'profile'}", "--dump-dom"]
    command = [CHROMIUM, *options, (root / "all.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    written = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert written
    return [json.loads(line) for line in html.unescape(written[1]).splitlines()]


@pytest.mark.slow
def test_pages_fit_and_can_be_read(pages: list[str], axe: str, tmp_path: Path) -> None:
    seen = look(pages, axe, tmp_path)
    assert Counter(told["dark"] for told in seen) == dict.fromkeys((False, True), len(pages) * len(WIDTHS))
    for told in seen:
        assert (told["paper"] == "rgb(255, 255, 255)") is not told["dark"]
        assert told["page"] <= told["width"], f"at {told['width']} the page is {told['page']} wide"
        assert not told["overlap"]
        assert not told["outside"]
        assert not told["small"]
        assert not told["slivers"], "a line ends between the edge of a mark and its word"
        assert not (told["wide"] and told["width"] >= 390), "sources and figures that are compared are shown whole"
        assert not told["axe"]
