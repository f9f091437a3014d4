"""The page of a dataset or a run: it needs nothing else, shows the manifest's counts, and escapes foreign text."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import digests, read_manifest
from tiny import corpus_manifest, write_pairs

import bertdata
from bertdata.codec import decode
from bertdata.config import PairsConfig
from bertdata.dataset import manifest
from bertdata.dataset.manifest_records import Amounts, SourceEntry
from bertdata.dataset.manifest_types import CorpusManifest, PairsManifest
from bertdata.errors import VerificationError
from bertdata.reports.auc import auc
from bertdata.reports.card import amounts
from bertdata.reports.page.measure import masks_of, pairs_of
from bertdata.reports.page.sample import read_documents, read_rows
from bertdata.tokens.read import read_any
from bertdata.verification import verify

HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}\u202e\x07\"'&"
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")


class Page(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(self.source)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("kind", ["corpus", "vocab", "pairs"])
def test_each_dataset_has_a_page_that_needs_nothing_else(
    sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, kind: str
) -> None:
    path = {"corpus": sample_corpus, "vocab": sample_vocab, "pairs": sample_pairs}[kind]
    page = Page(path / "report.html")
    assert "could not be made" not in page.text
    assert not {tag for tag, _ in page.elements} & {"script", "img", "link", "iframe", "object", "form"}
    assert not page.open
    (policy,) = [attributes["content"] for tag, attributes in page.elements if tag == "meta" and "http-equiv" in attributes]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert {attributes["href"] for tag, attributes in page.elements if tag == "a"} <= {f"#{name}" for name in ids}
    assert "report.html" not in json.dumps(read_manifest(path)), "verify ignores the page"


def test_every_loss_is_named_with_its_count_and_unit(sample_corpus: Path, sample_pairs: Path) -> None:
    for path, counts in ((sample_corpus, []), (sample_pairs, read_manifest(sample_pairs)["corpus"]["counts"])):
        text = Page(path / "report.html").text
        for stage in [*counts, *read_manifest(path)["counts"]]:
            assert f"{stage['stage']}: {stage['in']:,} in" in text
            for reason, count in {**stage["dropped"], **stage["rejected"]}.items():
                unit = stage["stage"].split()[-1]
                assert f"{reason} {count:,} {unit.removesuffix('s') if count == 1 else unit}" in text


def test_the_title_names_the_dumps_and_never_breaks_inside_a_date(sample_corpus: Path) -> None:
    page = Page(sample_corpus / "report.html")
    assert "Corpus of sampleenwiki 2026-11-01, samplezhwiki 2026-11-01, books · bertdata" in page.text
    assert "<span>2026-11-01,</span>" in page.source and re.search(r"h1 span \{ display: inline-block;", page.source)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    record = {"title": HOSTILE, "text": f"It is {HOSTILE} that came. It went away again.", "id": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    made = bertdata.build_corpus(text=tmp_path / "a.jsonl", output=tmp_path / "corpus", workers=1)
    page = Page(made.path / "report.html")
    assert "script" not in {tag for tag, _ in page.elements}
    assert page.text.count("<script>alert(1)</script>{{ 7 * 7 }}") == 2
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page.source)


@pytest.mark.slow
def test_equal_runs_write_equal_pages(text: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        bertdata.build_corpus(text=text, output=tmp_path / name, workers=1)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert "report.html" in digests(tmp_path / "a")


@pytest.mark.slow
def test_an_error_in_the_page_does_not_end_a_run(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertdata.reports.page.documents.flow", lambda *_: 1 / 0)
    made = bertdata.build_corpus(text=text, output=tmp_path / "corpus", workers=1)
    assert "could not be made (ZeroDivisionError" in Page(made.path / "report.html").text
    assert not verify(made.path, workers=1).problems


def test_only_a_part_of_a_large_dataset_is_read(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": [[20 + i % 40 for i in range(3000)] for _ in range(14)]})
    contents = manifest.read(pairs, PairsManifest)
    rows = read_rows(pairs, contents, read_any(pairs))
    assert rows is not None
    assert 10_000 < rows.table.num_rows <= 16_384 < contents.rows
    assert len(set(rows.numbers.tolist())) == rows.table.num_rows
    assert 0 <= rows.positions.min() < 0.1 < 0.9 < rows.positions.max() < 1
    assert read_documents(pairs.parent / "none", decode(corpus_manifest([]), CorpusManifest)) is None


def test_a_feature_that_predicts_the_label_is_called_a_leak(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": [[20 + 20 * (i % 2) for i in range(400)]]})
    assert re.search("length of the pair 1.000 ± 0.029 predicts the label", Page(bertdata.report(pairs)).text)
    labels = np.random.default_rng(1).integers(0, 2, 4000)
    area, error = auc(np.random.default_rng(2).integers(0, 50, 4000), labels)
    assert abs(area - 0.5) < 4 * error < 0.05


@pytest.mark.parametrize("masking", ["none", "static"])
def test_masks_and_pairs_are_those_of_the_rows(sample_corpus: Path, sample_vocab: Path, tmp_path: Path, masking: str) -> None:
    config = PairsConfig(masking=masking, max_seq_length=64)
    (made,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "pairs", config=config, workers=1)
    vocabulary = read_any(made.path)
    rows = read_rows(made.path, made.manifest, vocabulary)
    assert rows is not None
    masks, pairs = masks_of(rows, config, vocabulary), pairs_of(rows, config)
    assert masks is not None and pairs is not None
    assert 0.14 < len(masks[1]) / masks[2] < 0.16
    assert int(pairs.labels.sum()) == made.manifest.statistics.not_next
    assert int((pairs.a + pairs.b).sum()) == made.manifest.statistics.tokens
    page = Page(made.path / "report.html")
    assert "[MASK]" in page.text and any(tag == "mark" for tag, _ in page.elements) and "to predict (" in page.text


@pytest.mark.parametrize("words", [True, False])
def test_whole_words_are_masked_where_rows_mark_them(tmp_path: Path, words: bool) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": [[40] * 60]}, words=words, chinese_words="jieba" if words else "none")
    text = Page(bertdata.report(pairs)).text
    assert ("by whole words" in text) == ("masked (epoch 0, whole words)" in text) == words


def test_words_are_counted_only_in_languages_with_spaces() -> None:
    languages = {code: Amounts(documents=1, words=20, characters=90) for code in ("en", "ja", "zh-tw")}
    shown = amounts(
        {"books": SourceEntry(documents=1, text_bytes=9, words=1, characters=1, share=1.0, languages=languages)}, None
    )
    assert {amount.language: amount.figures[1] for amount in shown} == {"en": "20", "ja": "–", "zh-tw": "–"}


def test_a_training_run_has_curves_and_says_why_it_failed(tmp_path: Path) -> None:
    records = []
    for step in range(10, 5001, 10):
        record = {"kind": "train", "step": step, "mlm_loss": 8 - step / 1000, "nsp_accuracy": 0.5 + step / 20_000}
        records += [record, {**record, "kind": "evaluation", "unigram_entropy": 6.0}] if step % 500 == 0 else [record]
    records.append({"kind": "train", "step": 5001, "mlm_loss": float("inf")})
    records.append({"kind": "error", "step": 5002, "problem": f"the loss is not finite {HOSTILE}"})
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    about = {"model": "BertForPreTraining, new weights", "parameters": 4_385_536, "rows": 40_416}
    (tmp_path / ".bertdata").mkdir()
    (tmp_path / ".bertdata" / "run.json").write_text(json.dumps({"identity": {}, "about": about}))
    page = Page(bertdata.report(tmp_path))
    assert "Training run of BertForPreTraining, new weights parameters 4,385,536 rows 40,416" in page.text
    assert "Step 5,002: the loss is not finite <script>" in page.text
    assert "evaluation, orange: 3 at the end; unigram baseline, dashed: 6" in page.text
    lines = [attributes["points"] or "" for tag, attributes in page.elements if tag == "polyline"]
    points = [[tuple(map(float, point.split(","))) for point in line.split()] for line in lines]
    assert [len(line) for line in points] == [2, 250, 10, 2, 250, 10]
    _, loss, _, _, accuracy, _ = points
    assert loss[0][0] < loss[-1][0] and loss[0][1] < loss[-1][1], "a falling loss goes down, and SVG counts from above"
    assert accuracy[0][1] > accuracy[-1][1]


@pytest.mark.parametrize(
    ("name", "column"), [("lengths", {"input_ids": [[]]}), ("ids", {"input_ids": [[60_000] * 20]}), ("labels", {"label": [7]})]
)
def test_impossible_values_of_a_stranger_end_in_a_named_error(tmp_path: Path, name: str, column: dict[str, list[object]]) -> None:
    """The digests are valid, and the values are ones that no command writes."""
    pairs = write_pairs(tmp_path / "pairs", {"train": [[20] * 8]})
    contents = read_manifest(pairs)
    path = pairs / contents["shards"][0]["name"]
    table = pa.ipc.open_file(path).read_all()
    for key, (value,) in column.items():
        index = table.schema.get_field_index("next_sentence_label" if key == "label" else key)
        field = table.schema.field(index)
        table = table.set_column(index, field, pa.array([value] * table.num_rows, field.type))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    contents["shards"][0] |= {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    manifest.store(pairs, {key: value for key, value in contents.items() if key not in ("card", "sha256")})
    with pytest.raises(VerificationError, match=str(pairs)):
        bertdata.report(pairs)


def test_a_damaged_metrics_file_ends_in_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"kind": "train"}\n')
    with pytest.raises(VerificationError, match="impossible values"):
        bertdata.report(tmp_path)


@pytest.mark.nightly
@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt-get install chromium")
def test_a_page_fits_a_phone(sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, tmp_path: Path) -> None:
    """Nothing is wider than the screen, and no two labels of a chart overlap."""
    look = """<script>addEventListener('load', () => { const wrong = [];
      if (document.documentElement.scrollWidth > innerWidth) wrong.push('wide');
      for (const svg of document.querySelectorAll('svg')) { const boxes = [...svg.querySelectorAll('text')].map(text =>
        text.getBoundingClientRect());
        boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => { if (a.left < b.right - 1 && b.left < a.right - 1 &&
          a.top < b.bottom - 4 && b.top < a.bottom - 4) wrong.push('overlap'); })); }
      parent.postMessage(wrong.join() || 'fits', '*'); });</script>"""
    for name, path in (("corpus", sample_corpus), ("vocab", sample_vocab), ("pairs", sample_pairs)):
        page = re.sub("<meta http-equiv[^>]*>", look, (path / "report.html").read_text(encoding="utf-8"), count=1)
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        frame = "<pre></pre><script>onmessage = told => document.querySelector('pre').append(told.data)</script>"
        (tmp_path / "frame.html").write_text(f"{frame}<iframe src=page.html style='width:390px;height:900px;border:0'>")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=9000"]
        options += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "frame.html").as_uri()]
        done = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, timeout=120, check=True)
        assert "<pre>fits</pre>" in done.stdout, f"{name}: {done.stdout[:300]}"
