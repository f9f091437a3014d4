"""Prepare a corpus for ELMo, with the characters of each word, and train a small bidirectional model on it.

    bertdata build-corpus --wikipedia dumps --output corpus
    python examples/elmo.py corpus --steps 1000

ELMo reads sentences (Peters et al. 2018), which a corpus contains. Each word has 50 characters: its bytes between a begin mark
and an end mark. The numbers are those of github.com/allenai/bilm-tf plus one, where 0 means no word.  The forward model predicts
the next word, the backward model the previous one.  Here each direction has one layer; ELMo has two.
"""

from __future__ import annotations

import argparse
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a directory that build-corpus wrote, of Arrow streams")
    parser.add_argument("--language", default="en")
    parser.add_argument("--words", type=int, default=2000, help="number of frequent words to predict")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--hidden", type=int, default=128)
    return parser.parse_args()


try:
    import torch
    from torch import Tensor, nn
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch") from None

CHARACTERS = 50  # per word, including its two marks
SENTENCE, SENTENCE_END, WORD, WORD_END, FILL = 257, 258, 259, 260, 261  # bytes are 1 to 256
OTHER, BEGIN, END = 0, 1, 2  # targets: an infrequent word, the ends of a sentence
IGNORED = -100


def sentences(corpus: Path, language: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of the documents in a language."""
    paths = sorted((corpus / "data").glob("*.arrow"))
    if not paths:
        raise SystemExit(f"{corpus}: no data/*.arrow found. Pass a corpus of build-corpus")
    for path in paths:
        with pa.memory_map(str(path)) as source:
            for batch in pa.ipc.open_file(source).read_all().to_batches():  # mapped: nothing is copied
                if "sentences" not in batch.schema.names:
                    raise SystemExit(f"{corpus}: these are rows, not documents. Pass a directory that build-corpus wrote")
                for own, found in zip(batch.column("language").to_pylist(), batch.column("sentences").to_pylist(), strict=True):
                    yield from (re.findall(r"\w+|[^\w\s]", text) for text in found if own == language)


def characters(word: str | int) -> list[int]:
    """Return the 50 numbers of a word or of a sentence mark.

    >>> characters("tea")[:6], characters(SENTENCE)[:4], len(characters("x" * 99))
    ([259, 117, 102, 98, 260, 261], [259, 257, 260, 261], 50)
    """
    inside = [word] if isinstance(word, int) else [1 + byte for byte in word.encode()[: CHARACTERS - 2]]
    numbers = [WORD, *inside, WORD_END]
    return numbers + [FILL] * (CHARACTERS - len(numbers))


def batch_of(chosen: list[list[str]], vocabulary: dict[str, int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return characters [B, L, 50], lengths [B], and the target words forward and backward [B, L]."""
    rows = [[characters(SENTENCE), *map(characters, words), characters(SENTENCE_END)] for words in chosen]
    told = [[BEGIN, *(vocabulary.get(word, OTHER) for word in words), END] for words in chosen]
    width = max(map(len, rows))
    text = torch.tensor([row + [[0] * CHARACTERS] * (width - len(row)) for row in rows])
    forward = torch.tensor([row[1:] + [IGNORED] * (width - len(row) + 1) for row in told])
    backward = torch.tensor([[IGNORED, *row[:-1]] + [IGNORED] * (width - len(row)) for row in told])
    return text, torch.tensor([len(row) for row in rows]), forward, backward


class Model(nn.Module):
    """Convolutions over the characters of a word, a forward and a backward LSTM, and a softmax for both."""

    def __init__(self, words: int, hidden: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(FILL + 1, 16, padding_idx=0)
        self.windows = nn.ModuleList(nn.Conv1d(16, hidden // 2, size) for size in (2, 3, 4))
        self.project = nn.Linear(hidden // 2 * 3, hidden)
        self.both = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)  # each state depends on one side only
        self.words = nn.Linear(hidden, words)

    def forward(self, text: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of words, forward and backward [B, L, W]."""
        spelt = self.characters(text).flatten(0, 1).transpose(1, 2)
        words = torch.cat([window(spelt).amax(2).relu() for window in self.windows], 1)
        inputs = self.project(words).view(*text.shape[:2], -1)
        packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.both(packed)[0], batch_first=True)
        one, other = states.chunk(2, dim=2)
        return self.words(one), self.words(other)


def losses(model: Model, chosen: list[list[str]], vocabulary: dict[str, int]) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy per word, forward and backward, in nats."""
    text, lengths, forward, backward = batch_of(chosen, vocabulary)
    one, other = (
        nn.functional.cross_entropy(scores.flatten(0, 1), told.flatten(), ignore_index=IGNORED)
        for scores, told in zip(model(text, lengths), (forward, backward), strict=True)
    )
    return one, other


def main() -> None:
    """Train for some steps, and print the perplexities on held-out sentences."""
    options = parse()
    draw = random.Random(0)
    torch.manual_seed(0)
    found = [words for words in sentences(options.corpus, options.language) if words]
    if len(found) < 10:
        raise SystemExit(
            f"{options.corpus}: {len(found)} sentences in language {options.language}. Pass --language and a larger corpus"
        )
    draw.shuffle(found)
    held_out, train = found[: len(found) // 10], found[len(found) // 10 :]
    counts = Counter(word for words in train for word in words)
    vocabulary = {word: number for number, (word, _) in enumerate(counts.most_common(options.words), END + 1)}
    model = Model(len(vocabulary) + END + 1, options.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    for step in range(options.steps):
        optimizer.zero_grad()
        forward, backward = losses(model, draw.sample(train, min(len(train), options.batch_size)), vocabulary)
        torch.autograd.backward(forward + backward)
        optimizer.step()
        print(f"step {step}  loss {(forward + backward).item() / 2:.4f}", flush=True)
    with torch.no_grad():
        forward, backward = losses(model.eval(), held_out[:200], vocabulary)
    print(f"held out: perplexity forward {math.exp(forward):.1f}, backward {math.exp(backward):.1f}, of {len(vocabulary)} words")


if __name__ == "__main__":
    main()
