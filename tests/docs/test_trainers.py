"""The page on other trainers: its code trains on each epoch once and resumes with the next batch."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from pages import DOCS, blocks
from tiny import write_pairs

import bertdata

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly,
    pytest.mark.filterwarnings("default"),  # warnings of the trainers are not ours
]
LENGTHS = np.random.default_rng(7).integers(6, 65, 210).tolist()
EPOCH = 210 // 32
Seen = list[Any]


@pytest.fixture(autouse=True)
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work beside a small dataset, as the page does, on one thread."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    torch.set_num_threads(1)
    with mock.patch.dict(os.environ):  # restores what the trainers change
        yield write_pairs(tmp_path / "pairs", {"train": [LENGTHS], "validation": [LENGTHS[:53]]})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The ids of every batch that a model in training is called with."""
    ids: Seen = []
    forward = transformers.BertForPreTraining.forward

    @functools.wraps(forward)  # the loader reads its parameters
    def record(self: Any, **batch: Any) -> Any:
        if self.training:
            ids.append(batch["input_ids"].clone())
        return forward(self, **batch)

    monkeypatch.setattr(transformers.BertForPreTraining, "forward", record)
    return ids


def _code(heading: str) -> str:
    """Return the code of the page that is first after a heading."""
    page = (DOCS / "how-to" / "training.md").read_text(encoding="utf-8")
    text = page.partition(f"\n### {heading}\n")[2]
    return next(block.text for block in blocks(DOCS / "how-to" / "training.md") if text.startswith("\n") and block.text in text)


def _loader(**options: Any) -> Any:
    return bertdata.batches(bertdata.Shards("pairs"), 32, **options)


def _are(seen: Seen, steps: range) -> bool:
    """Whether these are the batches of these steps, in order."""
    expected = _loader(start_step=steps.start, steps=len(steps))
    return len(seen) == len(steps) and all(map(torch.equal, seen, (batch["input_ids"] for batch in expected)))


def test_transformers_trainer(seen: Seen) -> None:
    scope: dict[str, Any] = {}
    exec(_code("transformers.Trainer"), scope)
    assert _are(seen, range(3 * EPOCH))
    seen.clear()
    trainer = scope["Pretrainer"](transformers.BertForPreTraining(scope["config"]), scope["arguments"])
    trainer.train(resume_from_checkpoint="bert/checkpoint-10")
    assert _are(seen, range(10, 3 * EPOCH))


def test_accelerate(seen: Seen) -> None:
    pytest.importorskip("accelerate")
    exec(_code("Accelerate"), {})
    assert _are(seen, range(2 * EPOCH))


def test_lightning(seen: Seen) -> None:
    lightning = pytest.importorskip("lightning")
    scope: dict[str, Any] = {}
    exec(_code("Lightning"), scope)
    assert _are(seen, range(3 * EPOCH))
    seen.clear()
    quiet = {"use_distributed_sampler": False, "logger": False, "enable_progress_bar": False}
    save = lightning.pytorch.callbacks.ModelCheckpoint(dirpath="saved", filename="{step}", every_n_train_steps=4, save_top_k=-1)
    lightning.Trainer(max_steps=10, callbacks=[save], **quiet).fit(scope["Pretraining"]())
    assert _are(seen, range(10))
    seen.clear()
    lightning.Trainer(max_epochs=3, **quiet).fit(scope["Pretraining"](), ckpt_path="saved/step=8.ckpt")
    assert _are(seen, range(8, 3 * EPOCH))
