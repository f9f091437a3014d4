"""Rows without masks, and options that have no effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import write_pairs

from bertdata.config.train import Phase, TrainConfig
from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError
from bertdata.pieces import IGNORED
from bertdata.training.masks import MaskConfig
from bertdata.training.recipe import prepare

torch = pytest.importorskip("torch")
from bertdata.training import loader  # noqa: E402

FORMS = [
    {},
    {"for_model": "custom"},
    {"unpadded": True},
]


@pytest.mark.parametrize("form", FORMS, ids=["sparse", "dense", "unpadded"])
def test_no_masks(form: dict[str, Any], tmp_path: Path) -> None:
    """Rows come unmasked, for masks of your own."""
    rows = Shards(write_pairs(tmp_path / "rows", {"train": [[32] * 16]}))
    for batch in loader.batches(rows, 8, masks=MaskConfig(0.0), steps=2, **form):
        assert not (batch["input_ids"] == rows.special.mask).any()
        assert "labels" not in batch or (batch["labels"] == IGNORED).all()
        assert "masked_lm_labels" not in batch or not batch["masked_lm_labels"].numel()


@pytest.mark.parametrize(("name", "value"), [("masked_lm_prob", 0.3), ("max_predictions", 9), ("unit", "word")])
def test_options_for_rows_with_static_masks_are_refused_by_name(tmp_path: Path, name: str, value: Any) -> None:
    static = write_pairs(tmp_path / "static", {"train": [[32] * 8]}, masking="static")
    config = TrainConfig(phases=(Phase(shards=(str(static),), steps=2),), batch_size=4, **{name: value})
    for refused in (lambda: prepare(config), lambda: loader.batches(Shards(static), 4, masks=MaskConfig(**{name: value}))):
        with pytest.raises(UsageError, match=f"is masked already, so `{name}` {value} has no effect"):
            refused()
