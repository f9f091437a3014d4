"""Use BERT's vectors as features: the last four layers, concatenated, for a linear classifier (Devlin et al. 2019, section 5.3).

    python examples/features.py run/checkpoint-1000

The checkpoint is any directory that `transformers` loads. The task is generated: decide whether a sentence is a question or a
statement, where both have the same words ("can Anna see the harbour", "Anna can see the harbour"), so no single word decides.
The encoder is frozen, and the classifier reads the mean over the tokens of a sentence. finetune.py trains all weights instead.
"""

from __future__ import annotations

import argparse
import itertools
import random
from typing import Any


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="directory with config.json, model.safetensors and a tokenizer")
    parser.add_argument("--layers", type=int, default=4, help="number of last layers to concatenate")
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None

NAMES = ["Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Ida", "John", "Kate", "Leo"]
HELPERS = ["can", "will", "must", "may", "should", "could"]
ENDS = ["see the harbour", "mend the old clock", "bring some bread", "wait for the ferry"]
Sentences = list[tuple[str, int]]


def sentences(seed: int = 1) -> tuple[Sentences, Sentences]:
    """Return questions (1) and statements (0) for training and evaluation. Both forms of a sentence are in the same set."""
    made = list(itertools.product(NAMES, HELPERS, ENDS))
    random.Random(seed).shuffle(made)
    both = [[(f"{helper} {name} {end}", 1), (f"{name} {helper} {end}", 0)] for name, helper, end in made]
    third = len(both) // 3
    return list(itertools.chain(*both[third:])), list(itertools.chain(*both[:third]))


@torch.no_grad()
def features(encoder: Any, batch: dict[str, torch.Tensor], layers: int = 4) -> torch.Tensor:
    """Return the mean over tokens of the last layers' concatenated vectors [B, layers * H]."""
    states = encoder.eval()(**batch, output_hidden_states=True).hidden_states[1:]  # the first is the embeddings' output
    vectors, inside = torch.cat(states[-layers:], dim=-1), batch["attention_mask"][..., None]
    return (vectors * inside).sum(1) / inside.sum(1)


def main() -> None:
    """Train a linear classifier on the features, and print its accuracy."""
    options = parse()
    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.checkpoint)
    encoder, vectors, labels = transformers.AutoModel.from_pretrained(options.checkpoint), [], []
    for data in sentences():
        batch = tokenizer([text for text, _ in data], padding=True, truncation=True, return_tensors="pt")
        vectors.append(features(encoder, dict(batch), options.layers))
        labels.append(torch.tensor([label for _, label in data]))
    middle, spread = vectors[0].mean(0), vectors[0].std(0) + 1e-6
    train, dev = ((each - middle) / spread for each in vectors)
    classifier = torch.nn.Linear(train.shape[1], 2)
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(classifier(train), labels[0]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    accuracy = float((classifier(dev).argmax(1) == labels[1]).float().mean())
    print(f"features of {options.layers} layers: accuracy {accuracy:.3f} on {len(dev)} sentences")


if __name__ == "__main__":
    main()
