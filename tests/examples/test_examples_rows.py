"""Examples name what is wrong with rows that they cannot train on, and train on rows of every vocabulary that they can."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY, Build

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.nightly]  # those of transformers are not ours
SMALL = ("--hidden", 64, "--batch-size", 4, "--steps", 2)
Run = Callable[..., str]


@pytest.fixture(scope="module")
def data(
    build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Make rows by their name, each once: an objective, after "packed" or "bpe" if they are that."""
    root = tmp_path_factory.mktemp("rows")
    bpe = build("train-vocab", root / "vocab-bpe", sample_corpus, "--model", "bpe", "--size", 1000)

    def make(name: str) -> Path:
        if name == "corpus":
            return sample_corpus
        *how, objective = name.split()
        if not (root / name).exists():
            options = ["--max-seq-length", 32, "--validation-fraction", 0.2, "--shards", 1, "--objective", objective]
            options += ["--pack"] if "packed" in how else []
            build("make-pairs", root / name, sample_corpus, "--vocab", bpe if "bpe" in how else sample_vocab, *options)
        return root / name

    return make


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run an example in this process; return what it prints, and the message that it exits with."""
    monkeypatch.chdir(tmp_path)

    def call(name: str, *arguments: object) -> str:
        required = {"train_loop": ["--checkpoint", tmp_path / "x.pt"], "hf_trainer": ["--output", tmp_path / "out"]}.get(name, [])
        monkeypatch.setattr(sys, "argv", [name, *map(str, [*arguments, *required])])
        try:
            runpy.run_path(str(REPOSITORY / "examples" / f"{name}.py"), run_name="__main__")
        except SystemExit as end:
            return f"exit: {end.code}"
        return capsys.readouterr().out

    return call


NOT_PAIRS = (
    "BertForPreTraining: it needs labels of pairs, and these rows have none. Use BertForMaskedLM, or rows of --objective nsp"
)
CAUSAL = "it predicts masked tokens, and causal rows have none. Use a model such as GPT2LMHeadModel"
SEVERAL = "BertForPreTraining: it reads one pair per row, and these rows have several. Make rows without --pack"
MASKED = "GPT2LMHeadModel: it predicts each next token, and these rows are masked. Make rows with --objective causal"
REFUSED = [
    ("gpt", "nsp", MASKED),
    ("gpt", "packed bpe documents", MASKED),
    ("modernbert_packed", "packed causal", CAUSAL),
    ("modernbert_packed", "bpe causal", CAUSAL),
    ("train_loop", "documents", NOT_PAIRS),
    ("train_loop", "packed nsp", SEVERAL),
    ("train_loop", "causal", CAUSAL),
    ("lightning_style", "documents", NOT_PAIRS),
    ("lightning_style", "packed nsp", SEVERAL),
    (
        "hf_trainer",
        "packed nsp",
        "BertForPreTraining reads one pair per row, and these rows are packed. Run make-pairs without --pack",
    ),
    ("hf_trainer", "documents", "needs pairs, and these are rows of objective documents. Run make-pairs with --objective nsp"),
    ("hf_trainer", "corpus", "needs pairs, and these are rows of objective None"),
    ("elmo", "nsp", "these are rows, not documents. Pass a directory that build-corpus wrote"),
]


@pytest.mark.parametrize(("name", "of", "message"), REFUSED)
def test_rows_of_another_kind_are_refused_by_name(
    example: Run, data: Callable[[str], Path], name: str, of: str, message: str
) -> None:
    if name == "hf_trainer":
        pytest.importorskip("datasets")
    ended = example(name, data(of), *SMALL)
    assert ended.startswith("exit: ") and message in ended


@pytest.mark.parametrize("name", ["gpt", "modernbert_packed", "train_loop", "lightning_style", "hf_trainer", "elmo"])
def test_a_directory_without_rows_is_named(example: Run, name: str, tmp_path: Path) -> None:
    if name == "hf_trainer":
        pytest.importorskip("datasets")
    assert re.match(rf"exit: .*{tmp_path / 'nothing'}", example(name, tmp_path / "nothing", *SMALL))


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("gpt", "bpe causal"),
        ("gpt", "packed causal"),
        ("modernbert_packed", "documents"),
        ("modernbert_packed", "packed nsp"),
        ("modernbert_packed", "packed bpe documents"),
        ("train_loop", "sop"),
        ("lightning_style", "sop"),
    ],
)
def test_rows_that_an_example_can_learn_from(example: Run, data: Callable[[str], Path], name: str, of: str) -> None:
    workers = ("--workers", 0) if name in ("modernbert_packed", "train_loop") else ()
    losses = re.findall(r"^step \d+  loss (\d\S+)$", example(name, data(of), *SMALL, *workers), re.M)
    assert len(losses) == 2


def test_a_checkpoint_of_short_rows_is_enough(build: Build, data: Callable[[str], Path], example: Run, tmp_path: Path) -> None:
    """Texts of the examples are cut to the length of the model, which its tokenizer knows."""
    import transformers

    size = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 64}
    tokenizer = transformers.AutoTokenizer.from_pretrained(data("nsp"), model_max_length=6)
    transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=6, **size)).save_pretrained(
        tmp_path / "m"
    )
    tokenizer.save_pretrained(tmp_path / "m")
    assert "fine-tuning   accuracy" in example("features", tmp_path / "m", "--epochs", 1)
    printed = example(
        "finetune", tmp_path / "m", "--task", "sentence", "--examples", 12, "--batch", 4, "--epochs", 1, "--rate", 1e-3
    )
    assert "best accuracy" in printed or printed == "exit: 0"
