"""The lines of a data card that read a dataset run as they stand, on each format; and what the card says of rights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from processes import Started

import bertdata
from bertdata.config import PairsConfig
from bertdata.reports.card import snippets

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def made(text: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("formats")
    corpus = bertdata.build_corpus(text=text, output=root / "corpus", workers=1)
    config = PairsConfig(max_seq_length=64)
    (pairs,) = bertdata.make_pairs(corpus.path, vocab=sample_vocab, output=root / "pairs", config=config, workers=1)
    return [corpus.path, pairs.path]


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["polars", "duckdb", "torch", "datasets"])
def test_lines_of_the_card_run(made: list[Path], tool: str, tmp_path: Path) -> None:
    pytest.importorskip(tool)
    card = (made[1] / "README.md").read_text(encoding="utf-8")
    written = re.findall(r"```python\n(.*?)\n```", card, re.DOTALL)
    code = next((each for each in written if re.search(rf"import {'bertdata' if tool == 'torch' else tool}\b", each)), "")
    assert code
    assert code.count("\n") < 5
    env = {"HF_DATASETS_CACHE": str(tmp_path), "HOME": str(tmp_path), "PATH": "", "HF_HUB_OFFLINE": "1"}
    done = Started([], made[1], env, code)
    out, err = done.communicate(timeout=100)
    assert done.returncode == 0, err.decode()
    assert out.strip()


@pytest.mark.parametrize("objective", ["nsp", "causal"])
def test_packed_rows_are_read_by_the_same_lines(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str
) -> None:
    """The loader refuses padded batches of packed rows unless the lines say that no model of transformers reads them."""
    pytest.importorskip("torch")
    config = PairsConfig(objective=objective, pack=True, max_seq_length=64)
    (rows,) = bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "rows", config=config, workers=1)
    monkeypatch.chdir(rows.path)
    exec(snippets("pairs")["torch"], {})


def test_a_corpus_has_lines_of_its_own() -> None:
    assert set(snippets("documents")) == {"datasets", "polars", "duckdb"}


def test_the_card_tells_of_rights_and_shares(sample_corpus: Path, sample_pairs: Path) -> None:
    for path in (sample_corpus, sample_pairs):
        card = (path / "README.md").read_text(encoding="utf-8")
        assert "| wikipedia | CC BY-SA, as the wiki states | 2 |" in card
        assert "sampleenwiki 2026-11-01, samplezhwiki 2026-11-01" in card
        assert "https://creativecommons.org/licenses/by-sa/4.0/" in card
        assert "@misc{bertdata-" in card
        assert re.search(r"\| wikipedia \| zh \| 11 \| – \| [\d,]+ \| 0\.\d{4} \|", card)
