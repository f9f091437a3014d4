"""Fine-tune a checkpoint on a classification task, over the hyperparameter grid of the BERT paper (section A.3).

    python examples/finetune.py run/checkpoint-1000                                       # a small generated task
    python examples/finetune.py run/checkpoint-1000 --train train.jsonl --dev dev.jsonl

The checkpoint is any directory that `transformers` loads. Files are JSON lines of ``{"a": text, "b": text, "label": number}``,
where ``b`` is for tasks of pairs. The generated task is whether advice suits the weather.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from pathlib import Path
from typing import Any


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="directory with config.json, model.safetensors and a tokenizer")
    parser.add_argument("--train", type=Path, help="JSON lines to train on  [default: generated]")
    parser.add_argument("--dev", type=Path, help="JSON lines to choose the best point with")
    parser.add_argument("--batch", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--rate", type=float, nargs="+", default=[5e-5, 3e-5, 2e-5])
    parser.add_argument("--epochs", type=int, nargs="+", default=[2, 3, 4])
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None

Example = dict[str, Any]
Batch = dict[str, torch.Tensor]
ADVICE = {"it rained all day": "take an umbrella", "the sun was hot": "wear a light hat", "snow fell at night": "find warm boots"}
NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Frank")


def generated(count: int, seed: int) -> list[Example]:
    """Return pairs of the weather and an advice, with label 1 if it suits."""
    draw, examples = random.Random(seed), []
    for _ in range(count):
        weather, fits = draw.choice(list(ADVICE)), draw.randrange(2)
        advice = draw.choice([text for other, text in ADVICE.items() if (other == weather) == bool(fits)])
        examples.append({"a": f"Then {weather}.", "b": f"{draw.choice(NAMES)} should {advice}.", "label": fits})
    return examples


def encode(tokenizer: Any, examples: list[Example]) -> Batch:
    """Return padded ids and labels."""
    texts = [[example[name] for example in examples] for name in ("a", "b") if name in examples[0]]
    batch = dict(tokenizer(*texts, padding=True, truncation=True, max_length=128, return_tensors="pt"))
    return {**batch, "labels": torch.tensor([example["label"] for example in examples])}


def fine_tune(checkpoint: str, train: Batch, dev: Batch, batch_size: int, rate: float, epochs: int) -> float:
    """Train a classifier at a point of the grid. Return its accuracy on the development set."""
    transformers.set_seed(0)
    labels = int(train["labels"].max()) + 1
    model = transformers.AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=labels).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    steps = epochs * -(-len(train["labels"]) // batch_size)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(train["labels"])), batch_size):
            model(**{name: values[rows] for name, values in train.items()}).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    with torch.no_grad():
        return float((model.eval()(**dev).logits.argmax(1) == dev["labels"]).float().mean())


if __name__ == "__main__":
    options = parse()
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.checkpoint)
    files = [list(map(json.loads, path.open(encoding="utf-8"))) for path in (options.train, options.dev) if path]
    train, dev = (encode(tokenizer, examples) for examples in files or (generated(400, 1), generated(200, 2)))
    scores = {}
    for point in itertools.product(options.batch, options.rate, options.epochs):
        scores[point] = fine_tune(options.checkpoint, train, dev, *point)
        print(f"batch {point[0]}  rate {point[1]}  epochs {point[2]}  accuracy {scores[point]:.3f}", flush=True)
    best = max(scores, key=lambda point: scores[point])
    print(f"best: batch {best[0]}, rate {best[1]}, {best[2]} epochs: accuracy {scores[best]:.3f}")
