"""The four commands of README and of a tutorial, which make an encoder of today, run as they stand, with a small model."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY, SAMPLE, read_manifest

from bertdata.cli import cli
from bertdata.config import VocabConfig
from bertdata.config.base import options_of
from bertdata.reports.metrics import read_metrics

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BPE = "model" in options_of(VocabConfig)  # else the vocabulary is WordPiece
SMALL = {
    "batch_size": 4,
    "workers": 0,
    "log_every": 1,
    "save_every": 4,
    "warmup_steps": 2,
    "steps": 4,
    "accumulation": 2,
    "precision": '"fp32"',
}
MODEL = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 48}


@pytest.mark.long
def test_four_commands_from_a_dump_to_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (tmp_path / "dumps").mkdir()
    for path in SAMPLE.glob("*.bz2"):  # named as parts of a dump, which is how Wikimedia publishes large wikis
        name = re.sub(r"(-index)?\.(txt|xml)\.bz2$", r"\g<1>1.\2-p1p99.bz2", path.name)
        (tmp_path / "dumps" / name).write_bytes(path.read_bytes())
    recipe = (REPOSITORY / "examples" / "encoder-1024.toml").read_text(encoding="utf-8")
    for name, value in SMALL.items():
        recipe, found = re.subn(rf"(?m)^{name} = [^#\n]*", f"{name} = {value}  ", recipe)
        assert found == 1, name
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "encoder-1024.toml").write_text(recipe)
    model = json.loads((REPOSITORY / "examples" / "modernbert-base.json").read_text(encoding="utf-8"))
    (tmp_path / "examples" / "modernbert-base.json").write_text(json.dumps({**model, **MODEL}))
    monkeypatch.chdir(tmp_path)
    block = README.partition("## A modern encoder")[2].split("```")[1]
    assert block in (REPOSITORY / "docs" / "tutorials" / "encoder.md").read_text(encoding="utf-8")
    job = [line for line in block.splitlines() if line]
    assert [line.split()[1] for line in job] == ["build-corpus", "train-vocab", "make-pairs", "train"]
    for line in job:
        line = line if BPE else line.replace(" --model bpe", "")
        more = [] if line.split()[1] == "train" else ["--workers", "1"]
        done = CliRunner().invoke(cli, [*shlex.split(line)[1:], *more])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
    rows = read_manifest(tmp_path / "rows-1024")
    assert rows["config"]["pack"] and rows["statistics"]["parts"] > rows["statistics"]["rows"] > 4
    losses = [record["mlm_loss"] for record in read_metrics(tmp_path / "encoder" / "metrics.jsonl") if record["kind"] == "train"]
    last = tmp_path / "encoder" / "checkpoint-4"
    assert len(losses) == 4 and losses[0] == pytest.approx(
        math.log(transformers.AutoConfig.from_pretrained(last).vocab_size), abs=1
    )
    assert type(transformers.AutoModelForMaskedLM.from_pretrained(last)) is transformers.ModernBertForMaskedLM


def test_the_recipe_has_the_shape_of_modernbert_base() -> None:
    """149 million parameters, in the paper's table 3."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = transformers.AutoConfig.from_pretrained(REPOSITORY / "examples" / "modernbert-base.json")
    with torch.device("meta"):
        model = transformers.AutoModelForMaskedLM.from_config(config)
    assert model.config._attn_implementation == "sdpa"
    assert round(model.num_parameters() / 1e6) == 150
    assert [kind[:4] for kind in config.layer_types[:4]] == ["full", "slid", "slid", "full"]
