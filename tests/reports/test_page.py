"""The page of a dataset: its figures are the manifest's, foreign text is only text, and no size makes it slow."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from conftest import digests, read_manifest
from tiny import corpus_manifest, write_pairs

import bertdata
from bertdata.cli import cli
from bertdata.codec import decode
from bertdata.config import PairsConfig
from bertdata.dataset import manifest
from bertdata.dataset.manifest_types import CorpusManifest, PairsManifest
from bertdata.errors import UsageError
from bertdata.reports.page.measure import auc, masks_of, pairs_of
from bertdata.reports.page.sample import read_documents, read_rows
from bertdata.tokens.read import read_any
from bertdata.verification import verify

HOSTILE = "<script>alert(1)</script>\u202e\x07\"'&"


class Page(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(path: Path) -> Page:
    page = Page(path.read_text(encoding="utf-8"))
    assert not page.open, "each element that is opened is closed"
    return page


def test_dropped_templates_have_example_lines(sample_corpus: Path) -> None:
    told = read_manifest(sample_corpus)["dropped_templates"]
    assert list(told["examples"]) == [name for name, _ in told["most_frequent"][:50]]
    page = page_of(sample_corpus / "report.html").text
    for name, line in list(told["examples"].items())[:25]:
        assert f"{{{{{name}".lower() in line.lower().replace("_", " ")
        assert " ".join(line.split()) in page


@pytest.mark.parametrize("kind", ["corpus", "vocab", "pairs"])
def test_each_data_set_has_a_page_that_needs_nothing_else(
    sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, kind: str
) -> None:
    path = {"corpus": sample_corpus, "vocab": sample_vocab, "pairs": sample_pairs}[kind]
    page = page_of(path / "report.html")
    assert not {tag for tag, _ in page.elements} & {"script", "img", "link", "iframe", "object", "form"}
    assert all(value.startswith("#") for _, own in page.elements for name, value in own.items() if name == "href" and value)
    policy = [own["content"] for tag, own in page.elements if tag == "meta" and "http-equiv" in own]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    ids = [own["id"] for _, own in page.elements if own.get("id")]
    targets = {str(own["href"])[1:] for tag, own in page.elements if tag == "a"}
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)
    assert not verify(path, workers=1).problems
    assert "report.html" not in json.dumps(read_manifest(path))


def test_every_loss_is_named_with_its_count(sample_corpus: Path, sample_pairs: Path) -> None:
    for path, counts in ((sample_corpus, []), (sample_pairs, read_manifest(sample_pairs)["corpus"]["counts"])):
        page = page_of(path / "report.html")
        for stage in [*counts, *read_manifest(path)["counts"]]:
            assert f"{stage['stage']} {stage['in']:,} in" in page.text
            for reason, count in {**stage["dropped"], **stage["rejected"]}.items():
                assert f"{reason} {count:,} " in page.text


def test_reasons_link_to_their_records(tmp_path: Path) -> None:
    lines = ['{"text": "The tea is ready. It rained all day."}', '{"text": "12345 67890 12345."}', "{broken", "{broken too"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    config = bertdata.CorpusConfig(max_rejects=1)
    made = bertdata.build_corpus(text=tmp_path / "a.jsonl", output=tmp_path / "corpus", config=config, workers=1)
    page = page_of(made.path / "report.html")
    targets = {str(own["href"]) for tag, own in page.elements if tag == "a"}
    assert {own["id"] for _, own in page.elements if str(own.get("id")).startswith(("rejects-", "drops-"))} == {
        target[1:] for target in targets if target.startswith(("#rejects-", "#drops-"))
    }
    assert "#rejects-malformed-json" in targets


def test_what_tells_the_label_is_in_a_table_that_fits_a_phone(sample_pairs: Path) -> None:
    """A table of four columns or more moves from side to side there, and its last column is out of sight."""
    text = (sample_pairs / "report.html").read_text(encoding="utf-8")
    (head,) = re.findall(r"<thead>(<tr><th[^>]*>From.*?)</thead>", text)
    assert len(re.findall("<t[hd]", head)) == 3


def test_the_page_has_samples_with_masks(sample_pairs: Path) -> None:
    page = page_of(sample_pairs / "report.html")
    kinds = {own.get("class") for tag, own in page.elements if tag == "mark"}
    assert kinds == {None, "random", "kept"}
    assert "NotNext" in page.text
    assert "茶" in (sample_pairs.parent / "corpus" / "report.html").read_text(encoding="utf-8")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    record = {"title": HOSTILE, "text": f"It is {HOSTILE} that came. It went away again.", "id": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    made = bertdata.build_corpus(text=tmp_path / "a.jsonl", output=tmp_path / "corpus", workers=1)
    page = page_of(made.path / "report.html")
    assert not [tag for tag, _ in page.elements if tag == "script"]
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", (made.path / "report.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_equal_runs_write_equal_pages(text: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        bertdata.build_corpus(text=text, output=tmp_path / name, workers=1)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert "report.html" in digests(tmp_path / "a")


@pytest.mark.slow
def test_a_fault_in_the_page_does_not_end_a_run(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertdata.reports.page.documents.flow", lambda *_: 1 / 0)
    made = bertdata.build_corpus(text=text, output=tmp_path / "corpus", workers=1)
    assert "could not be made (ZeroDivisionError" in page_of(made.path / "report.html").text
    assert not verify(made.path, workers=1).problems


@pytest.mark.slow
def test_only_a_part_of_a_large_data_set_is_read(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": [[20 + i % 40 for i in range(3000)] for _ in range(14)]})
    made = manifest.read(pairs, PairsManifest)
    rows = read_rows(pairs, made, read_any(pairs))
    assert rows is not None
    assert 10_000 < rows.table.num_rows <= 16_384 < made.rows
    assert len(set(rows.numbers.tolist())) == rows.table.num_rows
    assert 0 <= rows.positions.min() < 0.1 < 0.9 < rows.positions.max() < 1
    assert read_documents(pairs.parent / "none", decode(corpus_manifest([]), CorpusManifest)) is None


def test_a_label_that_length_tells_is_called_a_leak(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", {"train": [[20 + 20 * (i % 2) for i in range(400)]]})
    assert "length of the pair 1.000" in page_of(bertdata.report(pairs)).text
    assert "predicts the label" in page_of(pairs / "report.html").text


@pytest.mark.parametrize("masking", ["none", "static"])
def test_masks_and_pairs_are_those_of_the_rows(sample_corpus: Path, sample_vocab: Path, tmp_path: Path, masking: str) -> None:
    config = PairsConfig(masking=masking, max_seq_length=64)
    (made,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "pairs", config=config, workers=1)
    known = read_any(made.path)
    rows = read_rows(made.path, made.manifest, known)
    assert rows is not None
    masks, pairs = masks_of(rows, config, known), pairs_of(rows, config)
    assert masks is not None
    assert pairs is not None
    assert 0.14 < len(masks.wanted) / masks.maskable < 0.16
    assert int(pairs.labels.sum()) == made.manifest.statistics.not_next
    assert int((pairs.a + pairs.b).sum()) == made.manifest.statistics.tokens


def test_figures_of_small_cases() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 4000)
    area, error = auc(rng.integers(0, 50, 4000), labels)
    assert abs(area - 0.5) < 4 * error < 0.05
    assert auc(labels, labels)[0] == 1.0


def test_the_command_compares(sample_pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="--output"):
        cli.main(["report", str(sample_pairs), str(sample_pairs)], standalone_mode=False)
    output = tmp_path / "page.html"
    cli.main(["report", str(sample_pairs), str(sample_pairs), "--output", str(output)], standalone_mode=False)
    assert capsys.readouterr().out.strip() == str(output)
    assert "Rows: compared" in page_of(output).text


def test_what_differs_is_compared(sample_pairs: Path, tmp_path: Path) -> None:
    """Inputs that differ are named as options are; a figure has one meaning, and labels have theirs."""
    other = write_pairs(tmp_path / "other", {"train": [[20] * 60]}, words=True, chinese_words="jieba")
    text = page_of(bertdata.report(sample_pairs, other, output=tmp_path / "page.html")).text
    compared = text[: text.index("Options that differ")]
    manifests = [read_manifest(path) for path in (sample_pairs, other)]
    sizes = " ".join(f"{each['vocab_size']:,}" for each in manifests)
    assert f"vocabulary pieces {sizes}" in compared and "vocabulary (SHA-256) " in compared and "(SHA-256) " in compared
    tokens = " ".join(f"{each['statistics']['tokens']:,}" for each in manifests)
    assert f"tokens in rows, with [CLS] and [SEP] {tokens}" in compared and "tokens of text: kept" in compared
    assert "documents in rows" in compared and "NotNext share" in compared


def test_datasets_and_runs_share_their_charts(sample_pairs: Path, tmp_path: Path) -> None:
    other = write_pairs(tmp_path / "other", {"train": [[20] * 60]})
    page = bertdata.report(sample_pairs, other, output=tmp_path / "page.html").read_text(encoding="utf-8")
    compared = page[page.index('id="compare-pairs"') :]
    assert re.search(r'class="s1"', compared[: compared.index("</svg>")])
    runs = []
    for number in range(5):
        run = tmp_path / f"run-{number}"
        run.mkdir()
        records = [
            {"kind": kind, "step": step, "mlm_loss": 9 - step / 10} for step in (10, 20) for kind in ("train", "evaluation")
        ]
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        runs.append(run)
    page = bertdata.report(*runs, output=tmp_path / "runs.html").read_text(encoding="utf-8")
    compared = page[page.index('id="compare-runs"') :]
    chart = compared[: compared.index("</svg>")]
    assert [f'class="l{number}"' in chart for number in range(5)] == [
        True,
        True,
        True,
        True,
        False,
    ]  # of five runs, the first four
    assert "run-4" in compared  # the table has all
