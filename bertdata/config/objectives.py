"""List the training objectives and their properties: labels, masks and special tokens.

To add an objective, add an entry here, a function in `bertdata/rows/` that builds its rows, and checks for `verify`.
"""

from __future__ import annotations

from typing import NamedTuple


class Objective(NamedTuple):
    """The row format of an objective, as described in the data card, and its rules. Only pairs have labels."""

    summary: str
    labels: tuple[str, ...] = ()  # meaning of labels 0 and 1 of a pair, as in google-research/bert
    label_1: str = ""  # name under which a manifest counts pairs with label 1
    masks: bool = True  # True for masked prediction, False for predicting each token from earlier ones
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
    "causal": Objective(
        "Text of one document a row, cut to length, as for GPT: a `[SEP]` ends each document.", masks=False, roles=("pad", "sep")
    ),
}
LABEL_1_COUNTS = {name: each.label_1 for name, each in OBJECTIVES.items() if each.label_1}
