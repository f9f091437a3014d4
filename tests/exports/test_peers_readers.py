"""What the trainers' own readers return of each export: the rows of `Shards`, in their order, with labels and masks.

The readers are in an environment of their own (tests/readers), because they need other versions of transformers and NumPy.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Build
from test_exports import read_megatron, read_tfrecord

from bertdata import Shards

pytestmark = pytest.mark.nightly
PEERS = REPOSITORY / ".venv-readers" / "bin" / "python"
SCRIPT = REPOSITORY / "tests" / "readers" / "read.py"


def read(name: str, directory: Path) -> list[dict[str, Any]]:
    """Read an export by a peer's code, in the peers' environment."""
    if not PEERS.exists():
        pytest.skip("the peers' readers are not installed: `make nightly` makes .venv-readers for them")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [str(PEERS), str(SCRIPT), name, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def static(parts: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with static masks."""
    options = ["--masking", "static", "--shards", 3, "--max-seq-length", 64, "--vocab", parts / "train-vocab"]
    return build("make-pairs", tmp_path_factory.mktemp("static") / "pairs", parts / "build-corpus", *options)


@pytest.mark.parametrize("reader", ["mds", "mds_streaming"])
@pytest.mark.parametrize("rows", ["static", "packed"])
def test_mds(parts: Path, build: Build, static: Path, tmp_path: Path, rows: str, reader: str) -> None:
    """Every column, and of packed rows where the documents begin."""
    packed = ["--vocab", parts / "train-vocab", "--objective", "documents", "--pack", "--shards", 2]
    source = static if rows == "static" else build("make-pairs", tmp_path / "rows", parts / "build-corpus", *packed)
    samples = read(reader, build("export", tmp_path / "out", source, "--to", "mds"))
    ids = [sample.pop("id") for sample in samples]
    assert ids == sorted(set(ids))
    rows_of = [{k: v.tolist() if hasattr(v, "tolist") else v for k, v in row.items()} for row in Shards(source)]
    assert [sample.pop("len") for sample in samples] == [len(row["input_ids"]) for row in rows_of]
    assert samples == rows_of


def test_megatron(parts: Path, build: Build, tmp_path: Path) -> None:
    """The ids of documents, sentence by sentence."""
    made = build("export", tmp_path / "out", parts / "build-corpus", "--to", "megatron", "--vocab", parts / "train-vocab")
    assert [row["sentences"] for row in read("megatron", made)] == read_megatron(made)


def test_tfrecord(build: Build, static: Path, tmp_path: Path) -> None:
    """Ids, segments, masks and labels, padded."""
    made = build("export", tmp_path / "out", static, "--to", "tfrecord")
    assert read("tfrecord", made) == list(read_tfrecord(made))
