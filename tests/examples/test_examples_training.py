"""The examples of training run as they stand, on pairs of the sample, and learn."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY, Build
from processes import Started

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.nightly]  # those of transformers are not ours
SMALL = ("--hidden", 64, "--learning-rate", 0.003, "--batch-size", 16)
Run = Callable[..., str]
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def make(build: Build, tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path) -> Make:
    """Make short pairs with a validation split."""
    options = ["--vocab", sample_vocab, "--max-seq-length", 32, "--validation-fraction", 0.2, "--shards", 2]
    return lambda *more: build("make-pairs", tmp_path_factory.mktemp("examples") / "pairs", sample_corpus, *options, *more)


@pytest.fixture(scope="module")
def pairs(make: Make) -> Path:
    """Pairs that are not masked."""
    return make()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a script of the repository in this process, which has loaded torch already; return what it prints."""

    def call(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        monkeypatch.syspath_prepend(str((REPOSITORY / name).parent))  # as Python does with a script
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            runpy.run_path(str(REPOSITORY / name), run_name="__main__")
        except SystemExit as end:
            assert end.code in (0, None), end.code
        finally:
            torch.set_num_threads(threads)
        return capsys.readouterr().out

    return call


def _losses(printed: str) -> list[str]:
    return re.findall(r"^step \d+ .*loss (\S+)$", printed, re.M)


def _falls(losses: list[str]) -> bool:
    numbers = [float(loss) for loss in losses]
    return sum(numbers[-3:]) < sum(numbers[:3]) - 2  # of 26 at first: far more than noise


@pytest.mark.slow
def test_a_loop_of_ones_own_goes_on_where_it_stopped(example: Run, pairs: Path, sample_pairs: Path, tmp_path: Path) -> None:
    """Dropout apart, which the loop does not keep: so the rows and masks are compared by the first loss after the stop."""
    through = _losses(example("examples/train_loop.py", pairs, "--steps", 20, *SMALL, "--checkpoint", tmp_path / "a.pt"))
    first = example("examples/train_loop.py", pairs, "--steps", 12, *SMALL, "--checkpoint", tmp_path / "b.pt", "--workers", 0)
    rest = example("examples/train_loop.py", pairs, "--steps", 20, *SMALL, "--checkpoint", tmp_path / "b.pt", "--workers", 1)
    assert _losses(first) == through[:12]
    assert [line.split()[1] for line in rest.splitlines()] == [str(step) for step in range(12, 20)]
    assert _falls(through)
    again = example("examples/train_loop.py", pairs, "--steps", 20, *SMALL, "--checkpoint", tmp_path / "b.pt")
    assert again.startswith(f"{tmp_path / 'b.pt'} has 20 steps: nothing to do") and not _losses(again)
    with pytest.raises(AssertionError, match="was trained on other pairs"):
        example("examples/train_loop.py", sample_pairs, "--checkpoint", tmp_path / "b.pt", *SMALL)


TORCHRUN = """
import runpy, sys
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
del sys.argv[0]
here = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0", "run_id": "here", "max_restarts": 0, "monitor_interval": 0.1}
run = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, start_method="fork", **here)
elastic_launch(run, lambda: bool(runpy.run_path(sys.argv[0], run_name="__main__")))()
"""


@pytest.mark.slow
def test_processes_share_the_batches(example: Run, pairs: Path, tmp_path: Path) -> None:
    """Two processes, started by torchrun's agent, do the steps of one; from their checkpoint one process continues alone."""
    arguments = [pairs, "--steps", 4, *SMALL, "--checkpoint", tmp_path / "c.pt", "--workers", 0]
    words = [str(REPOSITORY / "examples" / "train_loop.py"), *map(str, arguments)]
    done = Started(words, Path.cwd(), {**os.environ, "OMP_NUM_THREADS": "1"}, TORCHRUN)
    said, wrong = (text.decode() for text in done.communicate(timeout=200))
    assert done.returncode == 0, said + wrong
    assert len(_losses(said)) == 4
    assert len(_losses(example("examples/train_loop.py", pairs, "--steps", 6, *SMALL, "--checkpoint", tmp_path / "c.pt"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("masking", ["none", "static"])
def test_transformers_trainer_with_datasets_alone(
    example: Run, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, masking: str
) -> None:
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    import transformers

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    output = tmp_path / "bert"
    printed = example("examples/hf_trainer.py", make("--masking", masking), "--steps", 40, *SMALL, "--output", output)
    assert _falls(_losses(printed))
    model, told = transformers.BertForPreTraining.from_pretrained(output, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    assert model.cls.seq_relationship.bias.abs().max() > 0  # it began at 0: next sentence prediction was trained
    assert "import bertdata" not in (REPOSITORY / "examples" / "hf_trainer.py").read_text(encoding="utf-8")


def test_lightning_trains_it_to_the_same_losses(example: Run, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Trainer takes the same batches in the same order as the loop that stands for it."""
    pytest.importorskip("lightning")
    theirs = _losses(example("examples/lightning_style.py", pairs, "--steps", 8, *SMALL))
    monkeypatch.setitem(sys.modules, "lightning", None)  # as if it was not installed
    assert len(theirs) == 8 and theirs == _losses(example("examples/lightning_style.py", pairs, "--steps", 8, *SMALL))


@pytest.mark.slow
def test_a_module_as_lightning_wants_it(example: Run, pairs: Path, sample_pairs: Path) -> None:
    printed = example("examples/lightning_style.py", pairs, "--steps", 20, *SMALL)
    losses = _losses(printed)
    assert len(losses) == 20
    assert _falls(losses)
    validation = re.search(r"^validation loss (\S+)$", printed, re.M)
    assert validation
    assert abs(float(validation[1]) - float(losses[-1])) < 1
    assert "not validated: " in example("examples/lightning_style.py", sample_pairs, "--steps", 1, *SMALL)


def test_a_modernbert_learns_from_packed_rows(example: Run, make: Make) -> None:
    rows = make("--objective", "documents", "--pack")
    printed = example("examples/modernbert_packed.py", rows, "--steps", 20, *SMALL, "--workers", 0)
    losses = [float(loss) for loss in _losses(printed)]
    assert len(losses) == 20 and sum(losses[-3:]) < sum(losses[:3]) - 1


def test_the_benchmark_of_the_loader(example: Run, pairs: Path) -> None:
    pytest.importorskip("datasets")
    printed = example("benchmarks/loader.py", pairs, "--seconds", 0.2, "--workers", 0)
    rates = _rates(printed)
    assert {"bertdata", "bertdata, four widths", "datasets and a NumPy collator"} <= set(rates)
    assert min(rates.values()) > 0


def test_the_benchmark_of_the_loader_with_packed_rows(example: Run, make: Make) -> None:
    pytest.importorskip("datasets")
    packed = make("--objective", "documents", "--pack")
    printed = example("benchmarks/loader.py", packed, "--seconds", 0.2, "--workers", 0, "--batch-size", 8)
    rates = _rates(printed)
    assert {"bertdata", "datasets and a NumPy collator"} <= set(rates)
    assert min(rates.values()) > 0


def _rates(printed: str) -> dict[str, float]:
    """The rates without workers that the benchmark of the loader prints, by loader."""
    lines = [line for line in printed.splitlines() if line[34:42].strip() == "0"]
    return {line[:34].strip(): float(line.split()[-4].replace(",", "")) for line in lines}
