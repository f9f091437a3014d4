"""`import bertdata`: every public name is there, documented, loaded when asked for; functions print nothing and return values."""

from __future__ import annotations

import inspect
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bertdata
from bertdata import BertDataError, DataSet, PairsConfig, Progress
from bertdata.config.input_kinds import INPUTS
from bertdata.errors import NoInputError, UsageError
from bertdata.sample import sample
from bertdata.stages.corpus.sources import source

COMMANDS = (
    *("build_corpus", "train_vocab", "make_pairs", "export", "inspect", "open"),
    "download_wikipedia",
)


def test_every_public_name_is_there() -> None:
    assert dir(bertdata) == bertdata.__all__ == sorted(bertdata.__all__)
    for name in bertdata.__all__:
        assert getattr(bertdata, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bertdata.nothing


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_documented_function(name: str) -> None:
    function = getattr(bertdata, name)
    told = inspect.getdoc(function) or ""
    parameters = inspect.signature(function).parameters.values()
    assert all(f"{section}:" in told for section in ("Args", "Returns", "Raises", "Examples"))
    assert all(parameter.name in told for parameter in parameters)
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


def test_a_dataset_shows_itself(sample_corpus: Path, sample_pairs: Path) -> None:
    corpus, rows = bertdata.open(sample_corpus), bertdata.Shards(sample_pairs)
    assert repr(corpus) == f"DataSet('{sample_corpus}', documents: {corpus.rows:,} rows in {len(corpus.shards)} shards)"
    assert f"train: {len(rows):,} rows, nsp" in repr(rows)
    assert rows.decode(0).startswith("[CLS] ") and rows.decode(0).count("[SEP]") == 2


def test_inspect_returns_examples_and_drops(sample_corpus: Path, sample_pairs: Path) -> None:
    spread, longest = bertdata.inspect(sample_corpus, n=3), bertdata.inspect(sample_corpus, n=3, order="longest")
    lengths = [sum(map(len, document["sentences"])) for document in bertdata.inspect(sample_corpus, n=10**6)]
    assert [document["row"] for document in spread] == [number * len(lengths) // 3 for number in range(3)]
    assert [sum(map(len, document["sentences"])) for document in longest] == sorted(lengths, reverse=True)[:3]
    (row,) = bertdata.inspect(sample_pairs, row=3)
    assert row["row"] == 3 and row["text"] == bertdata.Shards(sample_pairs).decode(3)
    assert len({row["row"] for row in bertdata.inspect(sample_pairs, n=4, order="random")}) == 4
    assert all(document["language"] == "zh" for document in bertdata.inspect(sample_corpus, language="zh"))
    with pytest.raises(UsageError, match="redirect: such records are counted but not listed"):
        bertdata.inspect(sample_corpus, reason="redirect")
    with pytest.raises(UsageError, match="no record has this reason") as error:
        bertdata.inspect(sample_corpus, reason="noise")
    assert error.value.field == "reason"


@pytest.mark.slow
def test_functions_return_data_sets_and_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[Progress] = []
    corpus = bertdata.build_corpus(
        wikipedia=sample(), books=[sample() / "books"], output=tmp_path / "corpus", workers=1, progress=seen.append
    )
    vocab = bertdata.train_vocab(corpus.path, output=tmp_path / "vocab", size=4000, workers=1)
    found = bertdata.make_pairs(
        corpus.path, vocab=vocab.path, output=tmp_path / "pairs-{length}", max_seq_length=[64, 128], workers=1
    )
    assert [made.path.name for made in found] == ["pairs-64", "pairs-128"]
    assert [made.kind for made in (corpus, vocab, *found)] == ["documents", "vocabulary", "pairs", "pairs"]
    assert all(isinstance(made, DataSet) and made.new for made in (corpus, vocab, *found))
    assert all(path.is_file() for made in found for path in made.shards)
    assert isinstance(seen[-1], Progress) and seen[-1].done == seen[-1].total > 0
    for stage in corpus.counts:
        assert stage.entered == stage.left + sum(stage.dropped.values()) + sum(stage.rejected.values())
    assert not bertdata.verify(corpus.path, workers=1).problems
    assert capfd.readouterr() == ("", "")


def test_errors_name_fields(tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="`books`") as caught:
        bertdata.build_corpus(books=tmp_path / "nothing", output=tmp_path / "corpus")
    assert isinstance(caught.value, BertDataError)
    with pytest.raises(UsageError, match="`max_seq_length` is 3: expected an integer >= 16"):
        PairsConfig(max_seq_length=3)
    with pytest.raises(UsageError, match="contains no bertdata dataset .*: pass the output directory of a command"):
        bertdata.make_pairs(tmp_path, vocab=tmp_path, output=tmp_path / "pairs")
    for workers in (0, 1.5, "two", True):
        with pytest.raises(UsageError, match="`workers` is .*: use an integer of 1 or more"):
            bertdata.build_corpus(books=sample() / "books", output=tmp_path / "corpus", workers=workers)  # type: ignore[arg-type]
    assert [*tmp_path.iterdir()] == []


def test_small_functions() -> None:
    assert bertdata.extract_paragraphs("A '''kettle''' sings over the fire.\n* a list") == ["A kettle sings over the fire."]
    assert bertdata.split_sentences("It sings. It boils.", "en") == ["It sings.", "It boils."]
    known = bertdata.load_templates("en")
    assert bertdata.extract_paragraphs("It is {{convert|5|km|mi}} long.", templates=known) == [
        "It is 5 kilometres (3.1 mi) long."
    ]
    book = next((sample() / "books").glob("*.txt"))
    assert len(bertdata.read_book(book)) > 3


@pytest.mark.long
def test_a_script_without_a_main_guard(tmp_path: Path) -> None:
    """Two workers are started from a script as it stands: nothing of it runs again in them, and Beam says nothing."""
    script = tmp_path / "script.py"
    script.write_text(
        "import logging, sys\nimport bertdata\nfrom bertdata.sample import sample\nprint('begin')\n"
        "sys.modules['apitools'] = None  # of which Beam warns, as of much else, through the root logger\n"
        "made = bertdata.build_corpus(wikipedia=sample(), books=sample() / 'books', output='corpus', workers=2)\n"
        "print(made.rows, logging.getLogger().handlers)\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"begin\n\d+ \[\]\n", done.stdout), "the program's own logging is as it was"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.long
def test_an_interrupted_script_ends_with_a_plain_interrupt(tmp_path: Path, workers: int) -> None:
    """Ctrl-C reaches the process while a task runs."""
    (tmp_path / "own.py").write_text(
        "import os, signal, time\n"
        "def interrupt(document):\n    os.kill(int(os.environ['MAIN']), signal.SIGINT)\n    time.sleep(5)\n"
    )
    (tmp_path / "tea.txt").write_text("Tea is a drink.")
    script = (
        "import bertdata, os; os.environ['MAIN'] = str(os.getpid())\n"
        f"bertdata.build_corpus(text='tea.txt', output='corpus', maps=['own:interrupt'], workers={workers})"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.endswith("\nKeyboardInterrupt\n") and done.stderr.count("Traceback") == 1
    assert "apache_beam" not in done.stderr


def test_each_kind_of_input_is_an_argument_and_has_a_reader() -> None:
    """A kind is an entry in INPUTS, of which options, help and what `verify` knows are made; these two are written by hand."""
    assert len({source(kind).stage for kind in INPUTS}) == len(INPUTS)
    assert INPUTS.keys() <= inspect.signature(bertdata.build_corpus).parameters.keys()
