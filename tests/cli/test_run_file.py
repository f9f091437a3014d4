"""`bertdata run`: the commands of one TOML file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from calling import call

from bertdata.sample import sample

EXAMPLE = call("run", "--example").out


@pytest.mark.slow
def test_one_file_runs_all_commands_and_skips_complete_ones(tmp_path: Path) -> None:
    """The example, with the sample as its input and small sizes. Dashes in keys count as underscores."""
    pytest.importorskip("torch")
    text = EXAMPLE.replace('"dumps"', f'"{sample()}"').replace('"books"', f'"{sample() / "books"}"', 1)
    text = text.replace("size = 30000", "size = 8000").replace("steps = 100", "steps = 2").replace("0.01", "0.2")
    text = re.sub(r'"(corpus|vocab|pairs|run)"', lambda name: f'"{tmp_path / name[1]}"', text)
    file = tmp_path / "pipeline.toml"
    file.write_text(text.replace("max_seq_length", "max-seq-length"), encoding="utf-8")
    planned = call("run", file, "--dry-run")
    assert "[build-corpus]" in planned.err and "planned when the commands before it have run" in planned.err
    assert not (tmp_path / "corpus").exists()
    done = call("run", file)
    assert re.findall(r"^\[([a-z-]+)\]$", done.err, re.M) == ["build-corpus", "train-vocab", "make-pairs", "verify", "train"]
    assert (tmp_path / "run" / "checkpoint-2" / "model.safetensors").exists()
    assert call("run", file).out.count("complete already") == 4


def test_values_of_all_types_become_options(text: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    table = (
        f'text = ["{text}"]\noutput = "{tmp_path / "corpus"}"\nlanguages = ["en", "und"]\nlearn_templates = false\nworkers = 1'
    )
    file.write_text(f"[build-corpus]\n{table}\nmax-rejects = 0\ndedup_paragraphs = true\nmath = 'drop'\n", encoding="utf-8")
    assert call("run", file).code == 0
    config = json.loads((tmp_path / "corpus" / "manifest.json").read_text())["config"]
    assert config["filters"]["languages"] == ["en", "und"] and config["choice"]["dedup_paragraphs"] is True
    assert (config["math"], config["learn_templates"]) == ("drop", False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[train-vocb]", "'train-vocb' is not the table of a command: did you mean 'train-vocab'?"),
        ("build-corpus = 3", "'build-corpus' is not the table of a command"),
        ("", "no table found"),
        ('[verify]\ndirectory = "corpus"', "[verify] unknown option 'directory': did you mean 'directories'?"),
        ("[build-corpus]\nmax_document = 1", "[build-corpus] unknown option 'max_document': did you mean 'max_documents'?"),
        ("[build-corpus]\nbeam_args = 'x'", "unknown option 'beam_args'"),
        ('[build-corpus]\noutput = "corpus"\ndedup = "nears"', "[build-corpus] Invalid value for '--dedup'"),
        ('[build-corpus]\noutput = "corpus"\nseed = 1.5', "[build-corpus] Invalid value for '--seed'"),
        ('[build-corpus]\noutput = "corpus"\nseed = true', "[build-corpus] Invalid value for '--seed'"),
        ('[build-corpus]\noutput = "corpus"\ndedup_paragraphs = "yes"', "--dedup-paragraphs"),
        ('[build-corpus]\noutput = "corpus"\nlanguages = ["en", "jp"]', "'jp' is not a language code. Use ja"),
        ('[build-corpus]\noutput = "x"\n[train]\nphases = 3', "run.toml: [train] `phases` is 3"),
        ("[make-pairs\n", "is not valid TOML"),
    ],
)
def test_a_file_with_mistakes_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    done = call("run", tmp_path / "run.toml")
    assert done.code == 2 and says in done.err


def test_an_example_is_printed() -> None:
    assert "--example" in call("run").err
    assert not re.search(r"^\w+-\w+ =", EXAMPLE, re.M), "one spelling of keys"
