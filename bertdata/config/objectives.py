"""List the objectives that rows are for, and what follows from each: labels, what packs, masks, special tokens.

An objective is an entry here and a function in `bertdata/rows/` that builds its rows; `verify` has laws of its own for each.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LABEL_1", "OBJECTIVES", "PACKED", "Objective"]


class Objective(NamedTuple):
    """What a row is, in the words of a dataset's card, and the rules for it; without labels a row is no pair."""

    summary: str
    labels: tuple[str, ...] = ()  # what labels 0 and 1 of a pair mean, as in google-research/bert
    label_1: str = ""  # under which name a manifest counts the pairs with label 1
    packs: bool = True  # whether several rows can go into one
    masks: bool = True  # whether tokens are masked and predicted; else each token is predicted from those before it
    roles: tuple[str, ...] = ("pad", "cls", "sep", "mask")  # the special tokens that rows need


OBJECTIVES = {  # by the value of `objective`
    "nsp": Objective(
        "Sentence pairs for BERT's next sentence prediction: `[CLS] A [SEP] B [SEP]`; label 0 IsNext, 1 NotNext.",
        labels=("IsNext", "NotNext"),
        label_1="not_next",
    ),
    "sop": Objective(
        "Sentence pairs for ALBERT's sentence order prediction: `[CLS] A [SEP] B [SEP]`; label 0 in order, 1 swapped.",
        labels=("in order", "swapped"),
        label_1="swapped",
    ),
    "documents": Objective("Text of one document a row: `[CLS] … [SEP]`; longer documents are cut at ends of sentences."),
    "full-sentences": Objective(
        "Full sentences that fill a row, as for RoBERTa: `[CLS] … [SEP]`, and a `[SEP]` where a document ends.", packs=False
    ),
    "causal": Objective(
        "Running text cut to length, as for GPT: a `[SEP]` ends each document.", masks=False, roles=("pad", "sep")
    ),
}
LABEL_1 = {name: each.label_1 for name, each in OBJECTIVES.items() if each.label_1}
PACKED = tuple(name for name, each in OBJECTIVES.items() if each.packs)
