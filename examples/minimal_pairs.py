"""Score a checkpoint on minimal pairs: two sentences that differ in one place, of which one is correct, as in BLiMP.

    python examples/minimal_pairs.py run/checkpoint-1000                       # on the few pairs below
    python examples/minimal_pairs.py run/checkpoint-1000 --pairs pairs.jsonl   # lines of {"kind": …, "good": …, "bad": …}

The score is the share of pairs whose correct sentence has the higher pseudo-log-likelihood: each token is masked in turn, and the
log-probabilities of the original tokens are added up (Salazar et al. 2020, "Masked Language Model Scoring"). Guessing scores 0.5.

To score every checkpoint of a run, copy this file to the directory where you run ``bertdata train``, and add
``evaluate = "minimal_pairs:evaluate"`` to RUN.TOML.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

PAIRS = [
    {"kind": "agreement", "good": "The children play in the garden.", "bad": "The children plays in the garden."},
    {"kind": "agreement", "good": "The road between the villages is long.", "bad": "The road between the villages are long."},
    {"kind": "agreement", "good": "These rivers are deep.", "bad": "This rivers are deep."},
    {"kind": "order", "good": "She gave him the old book.", "bad": "She gave him old the book."},
    {"kind": "order", "good": "The ship has never left the harbour.", "bad": "The ship never has the left harbour."},
    {"kind": "order", "good": "What did they see on the island?", "bad": "What they did see island on the?"},
    {"kind": "reflexive", "good": "The queen saw herself in the water.", "bad": "The queen saw himself in the water."},
    {"kind": "reflexive", "good": "The men blamed themselves.", "bad": "The men blamed himself."},
]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="directory of a masked-language model with its tokenizer")
    parser.add_argument("--pairs", type=Path, help="JSON lines with kind, good and bad; default: a few pairs in English")
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None


@torch.no_grad()
def likelihood(model: Any, tokenizer: Any, sentence: str) -> float:
    """Return the pseudo-log-likelihood of a sentence, in nats."""
    ids = tokenizer(sentence, return_tensors="pt").input_ids[0].to(model.device)
    special = torch.tensor(tokenizer.all_special_ids, device=model.device)
    places = (~torch.isin(ids, special)).nonzero()[:, 0]
    masked = ids.repeat(len(places), 1)  # one row for each token, which is masked in it
    rows = torch.arange(len(places), device=model.device)
    masked[rows, places] = tokenizer.mask_token_id
    logits = model(input_ids=masked, attention_mask=torch.ones_like(masked)).logits[rows, places]
    return float(logits.float().log_softmax(1)[rows, ids[places]].sum())


def evaluate(directory: str | Path, step: int = 0, pairs: list[dict[str, str]] = PAIRS) -> dict[str, float]:
    """Return the accuracy of a checkpoint on each kind of pairs, and their mean. `bertdata train` passes directory and step."""
    model = transformers.AutoModelForMaskedLM.from_pretrained(directory).eval()
    if torch.cuda.is_available():
        model.cuda()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    right: dict[str, list[bool]] = defaultdict(list)
    for pair in pairs:
        good, bad = (likelihood(model, tokenizer, pair[name]) for name in ("good", "bad"))
        right[pair["kind"]].append(good > bad)
    scores = {kind: sum(each) / len(each) for kind, each in right.items()}
    return {**scores, "mean": sum(scores.values()) / len(scores)}


if __name__ == "__main__":
    options = parse()
    lines = options.pairs.read_text(encoding="utf-8").splitlines() if options.pairs else []
    for name, score in evaluate(options.checkpoint, pairs=[json.loads(line) for line in lines] or PAIRS).items():
        print(f"{name}: {score:.3f}")
