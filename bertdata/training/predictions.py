"""Write a model's predictions for a few rows: the masked words with its best guesses and the truth, and pair labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..codec import encode
from ..config import OBJECTIVES
from ..dataset.rows import Shards
from ..labels import IGNORED
from ..pieces import ROLES
from ..reports.predicted import NAME, Pair, Predictions, Row, Word
from ..storage.files import write_json
from .recipe import PhaseRows
from .step_batches import Batches

__all__ = ["write_predictions"]

Logits = Callable[[Any, dict[str, Tensor]], tuple[Tensor, Tensor | None]]  # the logits of words and of pairs for a batch
_MAX_ROWS = 4
_MAX_WORDS, _MAX_PIECES, _MAX_PAIRS = 16, 256, 8  # per row: predicted words, shown tokens and pairs
_GUESSES = 3  # per word


def write_predictions(
    output: Path, step: int, model: torch.nn.Module, logits: Logits, part: PhaseRows, batch: dict[str, Tensor]
) -> None:
    """Write predictions.json for the first rows of the validation split, or of the last training batch."""
    held_out = part.validation is not None
    if part.validation is not None:
        batch = Batches(part.validation, _MAX_ROWS, whole=True, masks=part.masks, **part.options)[0]
    tokens = part.shards.special
    first = {name: values[:_MAX_ROWS].clone() for name, values in batch.items()}
    rows = _predicted(model, logits, first, part.shards)
    special = [part.shards.pieces[i] for role, i in tokens._asdict().items() if role in ROLES and i >= 0]
    predictions = Predictions(step=step, held_out=held_out, mark=tokens.mark, special=special, rows=rows)
    write_json(output / NAME, encode(predictions))


@torch.no_grad()
def _predicted(model: torch.nn.Module, logits: Logits, batch: dict[str, Tensor], shards: Shards) -> list[Row]:
    """Return the predictions for rows."""
    row, column = (batch["masked_lm_labels"] != IGNORED).nonzero(as_tuple=True)
    unmasked = batch["input_ids"].clone()
    unmasked[row, batch["masked_lm_positions"][row, column]] = batch["masked_lm_labels"][row, column]
    for name in ("masked_lm_positions", "masked_lm_labels"):  # each masked word has a logit for every token of the vocabulary
        batch[name] = batch[name][:, :_MAX_WORDS]
    device = next(model.parameters()).device
    model.eval()
    words, relations = logits(model, {name: values.to(device) for name, values in batch.items()})
    model.train()
    count, names = len(batch["input_ids"]), OBJECTIVES[shards.objective].labels
    words = words.float().cpu().view(count, batch["masked_lm_labels"].shape[1], -1).softmax(2)
    shares, guesses = words.topk(min(_GUESSES, shards.vocab_size))
    pairs = None if relations is None else relations.float().cpu().view(count, -1, 2).softmax(2)
    rows = []
    for number in range(count):
        values = {name: tensor[number] for name, tensor in batch.items()}
        predicted_pairs = None
        if names and pairs is not None:
            labels = values["next_sentence_label"].flatten()[:_MAX_PAIRS].tolist()
            predicted_pairs = [
                Pair(truth=names[label], guess=names[max((0, 1), key=each.__getitem__)], share=round(max(each), 4))
                for label, each in zip(labels, pairs[number].tolist(), strict=False)
                if label != IGNORED
            ]
        tokens = int(values["attention_mask"].sum())
        shown = [shards.pieces[i] for i in unmasked[number, : min(tokens, _MAX_PIECES)].tolist()]
        found = _words(values, shards.pieces, guesses[number].tolist(), shares[number].tolist())
        rows.append(Row(pieces=shown, tokens=tokens, words=found, pairs=predicted_pairs))
    return rows


def _words(row: dict[str, Tensor], pieces: list[str], guesses: list[list[int]], shares: list[list[float]]) -> list[Word]:
    """Return the masked words of a row, and the guesses for each."""
    ids, positions, labels = (row[name].tolist() for name in ("input_ids", "masked_lm_positions", "masked_lm_labels"))
    words = []
    for at, label, best, share in zip(positions, labels, guesses, shares, strict=True):
        if label != IGNORED and at < _MAX_PIECES:
            guessed = [(pieces[i], round(each, 4)) for i, each in zip(best, share, strict=True) if i < len(pieces)]
            words.append(Word(at=at, truth=pieces[label], shown=pieces[ids[at]], guesses=guessed))
    return words
