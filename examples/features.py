"""Compare BERT features with fine-tuning. The features are the last four layers' vectors, concatenated, for a linear classifier.

    python examples/features.py run/checkpoint-1000

The checkpoint is any directory that `transformers` loads.  The task is generated: decide whether a sentence is a question or a
statement, where both have the same words ("can Anna see the harbour", "Anna can see the harbour"), so no single word decides.
For features, the encoder is frozen, and a linear classifier is trained on the mean over a sentence's tokens (Devlin et al. 2019,
section 5.3, used vectors of single words).  Fine-tuning trains all weights.
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
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate of fine-tuning; small models need a higher rate")
    parser.add_argument("--epochs", type=int, default=3)
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None

LAYERS = 4
NAMES = ["Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Ida", "John", "Kate", "Leo"]
HELPERS = ["can", "will", "must", "may", "should", "could"]
ENDS = ["see the harbour", "mend the old clock", "bring some bread", "wait for the ferry"]
Sentences = list[tuple[str, int]]


def sentences(seed: int = 1) -> tuple[Sentences, Sentences]:
    """Return questions (1) and statements (0) for training and evaluation; both forms of a sentence are in the same set."""
    made = list(itertools.product(NAMES, HELPERS, ENDS))
    random.Random(seed).shuffle(made)
    both = [[(f"{helper} {name} {end}", 1), (f"{name} {helper} {end}", 0)] for name, helper, end in made]
    third = len(both) // 3
    return [each for pair in both[third:] for each in pair], [each for pair in both[:third] for each in pair]


def encode(tokenizer: Any, data: Sentences) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return padded ids and the labels."""
    batch = tokenizer([text for text, _ in data], padding=True, truncation=True, return_tensors="pt")
    return dict(batch), torch.tensor([label for _, label in data])


@torch.no_grad()
def features(encoder: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the mean over tokens of the last four layers' concatenated vectors [B, 4 H]."""
    layers = encoder.eval()(**batch, output_hidden_states=True).hidden_states[1:]  # the first is the embeddings' output
    vectors = torch.cat(layers[-LAYERS:], dim=-1)
    inside = batch["attention_mask"][..., None]
    return (vectors * inside).sum(1) / inside.sum(1)


def with_features(path: str, tokenizer: Any, train: Sentences, dev: Sentences) -> float:
    """Train a linear classifier on the vectors of a frozen encoder; return its accuracy."""
    encoder = transformers.AutoModel.from_pretrained(path)
    (x, y), (x_dev, y_dev) = (
        (features(encoder, batch), labels) for batch, labels in (encode(tokenizer, s) for s in (train, dev))
    )
    middle, spread = x.mean(0), x.std(0) + 1e-6
    classifier = torch.nn.Linear(x.shape[1], 2)
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(classifier((x - middle) / spread), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return float((classifier((x_dev - middle) / spread).argmax(1) == y_dev).float().mean())


def with_fine_tuning(path: str, tokenizer: Any, train: Sentences, dev: Sentences, rate: float, epochs: int) -> float:
    """Train all weights; return the accuracy."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(path, num_labels=2).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    batch, labels = encode(tokenizer, train)
    for epoch in range(epochs):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        for start in range(0, len(order), 16):
            rows = order[start : start + 16]
            optimizer.zero_grad()
            model(**{name: values[rows] for name, values in batch.items()}, labels=labels[rows]).loss.backward()
            optimizer.step()
    batch, labels = encode(tokenizer, dev)
    with torch.no_grad():
        return float((model.eval()(**batch).logits.argmax(1) == labels).float().mean())


def main() -> None:
    """Run both, and print their accuracies."""
    options = parse()
    transformers.logging.set_verbosity_error()  # hide the warning about the new head
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.checkpoint)
    train, dev = sentences()
    print(f"{len(train)} sentences to train on, {len(dev)} to judge by, half of them questions")
    print(f"features      accuracy {with_features(options.checkpoint, tokenizer, train, dev):.3f}", flush=True)
    tuned = with_fine_tuning(options.checkpoint, tokenizer, train, dev, options.rate, options.epochs)
    print(f"fine-tuning   accuracy {tuned:.3f}")


if __name__ == "__main__":
    main()
