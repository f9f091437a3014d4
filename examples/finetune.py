"""Fine-tune a checkpoint on the four kinds of task of the BERT paper: sentence pairs, single sentences, answer spans, tags.

    python examples/finetune.py run/checkpoint-1000                            # all four, on small data that it makes
    python examples/finetune.py run/checkpoint-1000 --task sentence --train train.jsonl --dev dev.jsonl --labels 2

The checkpoint is any directory that `transformers` loads.  For each task the grid of the paper (section A.3) is tried, batch 16
and 32, learning rate 5e-5, 3e-5 and 2e-5, 2 to 4 epochs, and the best on the development set is named.

Data are JSON lines of ``{"a": text, "b": text, "label": label}``.  A text is a string or a list of words; ``b`` is for pairs and
spans.  The label is a class for a pair or a sentence, the first and the last word of the answer in ``b`` for a span, and a class
for each word of ``a`` for tags, 0 being none.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GRID = {"batch": (16, 32), "rate": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)}  # Devlin et al. 2019, section A.3
KINDS = ("pair", "sentence", "span", "tags")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="directory with config.json, model.safetensors and a tokenizer")
    parser.add_argument("--task", choices=KINDS, help="one kind of task; all of them if not given")
    parser.add_argument("--train", type=Path, help="JSON lines to train on; made up if not given")
    parser.add_argument("--dev", type=Path, help="JSON lines to choose by")
    parser.add_argument("--labels", type=int, help="number of classes in --train")
    parser.add_argument("--examples", type=int, default=600, help="examples to make up, a third of them to choose by")
    parser.add_argument("--length", type=int, default=128, help="tokens in a row at most")
    parser.add_argument("--batch", type=int, nargs="+", default=GRID["batch"])
    parser.add_argument("--rate", type=float, nargs="+", default=GRID["rate"])
    parser.add_argument("--epochs", type=int, nargs="+", default=GRID["epochs"])
    args = parser.parse_args()
    if (args.train is None) != (args.dev is None) or (args.train and not args.task):
        parser.error("--train, --dev and --task are given together")
    return args


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help needs none of them
    raise SystemExit(f"{lacking}: pip install torch transformers") from None

Example = dict[str, Any]
Features = dict[str, torch.Tensor]
WARMUP, DECAY, CLIP = 0.1, 0.01, 1.0  # share of the steps; Adam's weight decay; gradient norm: as in google-research/bert
Point = tuple[int, float, int]
NO_LABEL = -100  # what the loss of `transformers` leaves out

NAMES, TOWNS, LIKED, DISLIKED = (
    line.split()
    for line in (
        "Anna Ben Clara David Emma Frank Grace Henry Ida John Kate Leo Maria Nora Oscar Paul",
        "London Paris Rome Berlin Vienna Madrid Oslo Dublin Athens Lisbon Prague Warsaw",
        "lovely good fine warm kind happy bright clever",
        "awful bad poor cold cruel sad dull stupid",
    )
)
WEATHER = {
    "it rained all day": "take an umbrella",
    "the sun was very hot": "wear a light hat",
    "snow fell at night": "find warm boots",
}


def make_pair(draw: random.Random) -> Example:
    """A tells of the weather; B fits it or not."""
    weather, fits = draw.choice(list(WEATHER)), draw.randrange(2)
    advice = [text for told, text in WEATHER.items() if (told == weather) == bool(fits)]
    return {
        "a": f"In {draw.choice(TOWNS)} {weather} .",
        "b": f"{draw.choice(NAMES)} should {draw.choice(advice)} .",
        "label": fits,
    }


def make_sentence(draw: random.Random) -> Example:
    """Whether a sentence praises."""
    praise = draw.randrange(2)
    word = draw.choice(LIKED if praise else DISLIKED)
    return {"a": f"{draw.choice(NAMES)} found the book about {draw.choice(TOWNS)} {word} .", "label": praise}


def make_span(draw: random.Random) -> Example:
    """Where somebody lives, among two who are told of."""
    first, second = draw.sample(NAMES, 2)
    words = f"{first} lives in {draw.choice(TOWNS)} and {second} works in {draw.choice(TOWNS)} .".split()
    asked, position = draw.choice([(f"Where does {first} live ?", 3), (f"Where does {second} work ?", 8)])
    return {"a": asked, "b": words, "label": [position, position]}


def make_tags(draw: random.Random) -> Example:
    """Persons are 1, towns 2."""
    words = f"{draw.choice(NAMES)} met {draw.choice(NAMES)} in {draw.choice(TOWNS)} on the way to {draw.choice(TOWNS)} .".split()
    return {"a": words, "label": [1 if word in NAMES else 2 if word in TOWNS else 0 for word in words]}


def words_of(text: str | list[str]) -> list[str]:
    """Split a text at whitespace and around Chinese characters; a list is one of words already."""
    return text if isinstance(text, list) else re.findall(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+", text)


def encode(tokenizer: Any, example: Example, task: Task, length: int) -> dict[str, Any]:
    """Turn an example into ids and the labels that the task's head takes."""
    texts = [words_of(example[name]) for name in ("a", "b") if name in example]
    tokens = tokenizer(*texts, is_split_into_words=True, truncation=True, max_length=length)
    words, sides, label = tokens.word_ids(), tokens.sequence_ids(), example["label"]
    found = dict(tokens)
    if task.kind == "span":  # [CLS] stands for an answer that was cut off
        positions = {word: at for at, (word, side) in enumerate(zip(words, sides, strict=True)) if side == 1}
        whole = all(end in positions for end in label)
        found["start_positions"] = words.index(label[0], sides.index(1)) if whole else 0
        found["end_positions"] = positions[label[1]] if whole else 0
        found["passage"] = [side == 1 for side in sides]
    elif task.kind == "tags":  # a word's first piece tells
        firsts = [word is not None and word != before for word, before in zip(words, [None, *words], strict=False)]
        found["labels"] = [label[word] if first else NO_LABEL for word, first in zip(words, firsts, strict=True)]
    else:
        found["labels"] = label
    return found


def batches(rows: list[dict[str, Any]], size: int, pad: int) -> Iterator[Features]:
    """Put rows together, filled up to the longest."""
    fill = {"input_ids": pad, "labels": NO_LABEL}
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        width = max(len(row["input_ids"]) for row in part)
        made: Features = {}
        for name, first in part[0].items():
            lists = isinstance(first, list)
            rows_of = [row[name] + [fill.get(name, 0)] * (width - len(row[name])) if lists else row[name] for row in part]
            made[name] = torch.tensor(rows_of)
        yield made


def count_classes(output: Any, batch: Features) -> tuple[int, int, int]:
    """Right ones, and how many there are: their quotient is the accuracy."""
    right = int((output.logits.argmax(-1) == batch["labels"]).sum())
    return right, len(batch["labels"]), len(batch["labels"])


def count_spans(output: Any, batch: Features) -> tuple[int, int, int]:
    """Answers that are exactly right, the likeliest start and end in the passage being the answer."""
    outside = torch.where(batch["passage"].bool(), 0.0, -torch.inf)
    starts, ends = output.start_logits + outside, output.end_logits + outside
    backwards = torch.ones(starts.shape[1], starts.shape[1]).tril(-1).bool()
    both = (starts[:, :, None] + ends[:, None, :]).masked_fill(backwards, -torch.inf)
    best = both.flatten(1).argmax(1)
    start, end = best // starts.shape[1], best % starts.shape[1]
    right = int(((start == batch["start_positions"]) & (end == batch["end_positions"])).sum())
    return right, len(start), len(start)


def count_entities(output: Any, batch: Features) -> tuple[int, int, int]:
    """Entities found that are right, found and wanted; an entity is a run of words of one class."""

    def entities(classes: list[int]) -> set[tuple[int, int, int]]:
        edges = [at for at in range(1, len(classes)) if classes[at] != classes[at - 1]]
        return {(a, b, classes[a]) for a, b in zip([0, *edges], [*edges, len(classes)], strict=True) if classes[a]}

    right = found = wanted = 0
    for guess, label in zip(output.logits.argmax(-1), batch["labels"], strict=True):
        words = label != NO_LABEL
        got, want = entities(guess[words].tolist()), entities(label[words].tolist())
        right, found, wanted = right + len(got & want), found + len(got), wanted + len(want)
    return right, found, wanted


@dataclass(frozen=True)
class Task:
    """A kind of task: its head in `transformers`, what it is scored by, and who makes examples."""

    kind: str
    head: str
    measure: str
    count: Callable[[Any, Features], tuple[int, int, int]]
    make: Callable[[random.Random], Example]
    labels: int | None


TASKS = (
    Task("pair", "AutoModelForSequenceClassification", "accuracy", count_classes, make_pair, 2),
    Task("sentence", "AutoModelForSequenceClassification", "accuracy", count_classes, make_sentence, 2),
    Task("span", "AutoModelForQuestionAnswering", "exact match", count_spans, make_span, None),
    Task("tags", "AutoModelForTokenClassification", "entity F1", count_entities, make_tags, 3),
)


def run(path: str, task: Task, labels: int | None, data: list[list[dict[str, Any]]], pad: int, point: Point) -> float:
    """Train at one point of the grid; return the score on the development set."""
    size, rate, epochs = point
    transformers.set_seed(1)
    shape = {} if labels is None else {"num_labels": labels}
    model = getattr(transformers, task.head).from_pretrained(path, **shape)
    bare = [p for name, p in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name]
    others = [p for name, p in model.named_parameters() if not (name.endswith("bias") or "LayerNorm" in name)]
    optimizer = torch.optim.AdamW([{"params": others, "weight_decay": DECAY}, {"params": bare, "weight_decay": 0.0}], lr=rate)
    train, dev = data
    steps = epochs * -(-len(train) // size)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, int(WARMUP * steps), steps)
    model.train()
    for epoch in range(epochs):
        order = random.Random(epoch).sample(train, len(train))
        for batch in batches(order, size, pad):
            batch.pop("passage", None)
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    sums = [0, 0, 0]
    with torch.no_grad():
        for batch in batches(dev, 64, pad):
            inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
            sums = [a + b for a, b in zip(sums, task.count(model(**inputs), batch), strict=True)]
    right, found, wanted = sums
    return 2 * right / max(1, found + wanted)


def read(path: Path) -> list[Example]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> int:
    """Try the grid for each task; print the scores and the best."""
    args = parse()
    transformers.logging.set_verbosity_error()  # the head is new, as it should be
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.checkpoint)
    for task in TASKS:
        if args.task not in (None, task.kind):
            continue
        if args.train:
            sets = [read(args.train), read(args.dev)]
        else:
            draw = random.Random(task.kind)
            made = [task.make(draw) for _ in range(args.examples)]
            sets = [made[len(made) // 3 :], made[: len(made) // 3]]
        length = min(args.length, tokenizer.model_max_length)
        data = [[encode(tokenizer, example, task, length) for example in part] for part in sets]
        print(f"{task.kind}: {len(data[0])} examples to train on, {len(data[1])} to choose by")
        scores: dict[Point, float] = {}
        for point in [(size, rate, epochs) for size in args.batch for rate in args.rate for epochs in args.epochs]:
            scores[point] = run(args.checkpoint, task, args.labels or task.labels, data, tokenizer.pad_token_id, point)
            size, rate, epochs = point
            print(f"  batch {size:2}  learning rate {rate:.0e}  {epochs} epochs  {task.measure} {scores[point]:.3f}", flush=True)
        size, rate, epochs = max(scores, key=lambda point: scores[point])
        best = scores[size, rate, epochs]
        print(f"  best {task.measure} {best:.3f}: --batch {size} --rate {rate:.0e} --epochs {epochs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
