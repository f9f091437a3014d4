"""The notebook, the examples of ELMo, GPT and features run as they stand, in an empty directory, and reach what they say."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY, Build

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.nightly]  # those of transformers are not ours
EXAMPLES = REPOSITORY / "examples"
Run = Callable[..., str]


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """One thread, and a directory of its own, which holds nothing of the checkout."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example in this process, which has loaded torch already; return what it prints."""

    def call(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return call


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_a_line_for_each_example() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", text, re.M)
    assert all(name == link for name, link in told)
    here = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb", ".toml")}
    assert {name for name, _ in told} == here


@pytest.mark.slow
def test_the_notebook_runs_from_a_dump_to_predictions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its cells, in order, in one process; of fewer copies of the text, and for fewer steps, than a reader's."""
    cells = json.loads((EXAMPLES / "first_look.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    less = {"steps = 1500\n": "steps = 5\n", "dupe_factor=20": "dupe_factor=2"}
    assert all(sum(reader in source for source in code) == 1 for reader in less)
    names: dict[str, object] = {}
    for source in code:
        for reader, test in less.items():
            source = source.replace(reader, test)
        exec(compile(source, "first_look.ipynb", "exec"), names)
    printed = capsys.readouterr().out
    assert "words" in printed and re.search(r"\[SEP\] \| (IsNext|NotNext)$", printed, re.M)
    predictions = [line for line in printed.splitlines() if "[MASK]" in line and "[(" in line]
    assert len(predictions) == 4
    documents = list(names["documents"])  # type: ignore[call-overload]
    text = [sentence for document in documents for sentence in document["sentences"]]
    told = [line.partition(" [(")[0].replace("[MASK]", r"\w+") for line in predictions]
    assert [any(re.fullmatch(line, sentence) for sentence in text) for line in told] == [True, True, True, False]
    for line in predictions:
        best = ast.literal_eval(line[line.index("[(") :])
        assert len(best) == 5 and best == sorted(best, key=lambda entry: -entry[1])
    assert {path.name for path in tmp_path.iterdir()} == {"first-look"}


def test_the_notebook_is_kept_without_outputs() -> None:
    """So that it holds no path of a machine, and a change of it is one of its text."""
    cells = json.loads((EXAMPLES / "first_look.ipynb").read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_features_beside_fine_tuning(example: Run, tmp_path: Path, sample_vocab: Path) -> None:
    import transformers

    size = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(sample_vocab)
    model = transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), **size))
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    printed = example("features.py", tmp_path / "model", "--rate", 1e-3, "--epochs", 3)
    reached = dict(re.findall(r"^(features|fine-tuning) +accuracy ([\d.]+)$", printed, re.M))
    assert 0.5 < float(reached["features"]) <= 1
    assert float(reached["fine-tuning"]) > 0.9, "order tells, and a BERT can see it"


def test_features_are_the_last_four_layers_side_by_side() -> None:
    import transformers

    features = _module("features")
    size = {"hidden_size": 8, "num_hidden_layers": 5, "num_attention_heads": 2, "intermediate_size": 8}
    encoder = transformers.BertModel(transformers.BertConfig(vocab_size=20, **size)).eval()
    batch = {"input_ids": torch.tensor([[2, 7, 9, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 0]])}
    with torch.no_grad():
        states = encoder(**batch, output_hidden_states=True).hidden_states
    wanted = torch.cat([states[layer][0, :3].mean(0) for layer in (2, 3, 4, 5)])
    assert torch.allclose(features.features(encoder, batch)[0], wanted, atol=1e-6)
    train, dev = features.sentences()
    assert not {text for text, _ in train} & {text for text, _ in dev}
    for data in (train, dev):
        words = [{" ".join(sorted(text.split())) for text, label in data if label == kind} for kind in (0, 1)]
        assert words[0] == words[1], "a bag of words must not tell"


def test_elmo_reads_sentences_in_both_directions(example: Run, sample_corpus: Path) -> None:
    printed = example("elmo.py", sample_corpus, "--steps", 15, "--hidden", 32, "--batch-size", 8, "--words", 500)
    losses = [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)$", printed, re.M)]
    assert len(losses) == 15 and sum(losses[-3:]) < sum(losses[:3]) - 1
    forward, backward = re.search(r"forward ([\d.]+), backward ([\d.]+), of 500", printed).groups()  # type: ignore[union-attr]
    assert 1 < float(forward) < 503 and 1 < float(backward) < 503


def test_elmos_batches_by_hand() -> None:
    elmo = _module("elmo")
    assert elmo.characters("tea")[:6] == [259, 117, 102, 98, 260, 261]
    assert elmo.characters("é" * 30)[-2:] == [1 + 0xA9, 260], "bytes are cut to fit between the marks"
    text, lengths, forward, backward = elmo.batch_of([["a", "b"], ["c"]], {"a": 3, "b": 4})
    assert text.shape == (2, 4, 50) and lengths.tolist() == [4, 3]
    assert text[1, 3].tolist() == [0] * 50
    assert forward.tolist() == [[3, 4, 2, -100], [0, 2, -100, -100]]
    assert backward.tolist() == [[-100, 1, 3, 4], [-100, 1, 0, -100]]
    model = elmo.Model(5, 16).eval()
    other = text.clone()
    other[0, 2] = text[1, 1]  # the word "b" becomes "c": forward scores before it stay, backward scores after it
    with torch.no_grad():
        one, two = model(text, lengths), model(other, lengths)
    assert torch.equal(one[0][0, :2], two[0][0, :2]) and not torch.equal(one[0][0, 2], two[0][0, 2])
    assert torch.equal(one[1][0, 3:], two[1][0, 3:]) and not torch.equal(one[1][0, 2], two[1][0, 2])


def test_gpt_learns_from_causal_rows(example: Run, build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    options = [
        "--vocab",
        sample_vocab,
        "--objective",
        "causal",
        "--max-seq-length",
        32,
        "--validation-fraction",
        0.2,
        "--shards",
        1,
    ]
    rows = build("make-pairs", tmp_path / "rows", sample_corpus, *options)
    printed = example("gpt.py", rows, "--steps", 12, "--hidden", 32, "--batch-size", 16, "--learning-rate", 0.01)
    losses = [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)$", printed, re.M)]
    assert len(losses) == 12 and sum(losses[-3:]) < sum(losses[:3]) - 1
    found = re.search(r"^held out: perplexity ([\d.]+), of (\d+) pieces$", printed, re.M)
    assert found and 1 < float(found[1]) < int(found[2])
