"""Train a small ELMo (Peters et al. 2018) on the sentences of a corpus.

    bertdata build-corpus --wikipedia dumps --output corpus
    python examples/elmo.py corpus --steps 1000

The model reads the bytes of each word, and predicts the next word and, from right to left, the previous one. Each direction has
one layer here, and two in ELMo.
"""

from __future__ import annotations

import argparse
import math
import random
import re
from collections import Counter
from pathlib import Path


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a directory that build-corpus wrote")
    parser.add_argument("--steps", type=int, default=1000)
    return parser.parse_args()


try:
    import polars
    import torch
    from torch import Tensor, nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install polars torch") from None

CHARACTERS, BEGIN, END, OTHER = 50, 1, 2, 3  # bytes of a word; numbers of sentence marks and infrequent words, 0 is padding


class Model(nn.Module):
    """Convolutions over the bytes of a word, a forward and a backward LSTM, and a softmax for both."""

    def __init__(self, words: int, hidden: int = 128) -> None:
        super().__init__()
        self.bytes = nn.Embedding(259, 16, padding_idx=0)
        self.windows = nn.ModuleList(nn.Conv1d(16, hidden // 2, size) for size in (2, 3, 4))
        self.project = nn.Linear(hidden // 2 * 3, hidden)
        self.both = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)  # each state depends on one side only
        self.scores = nn.Linear(hidden, words)

    def forward(self, spelling: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        characters = self.bytes(spelling).flatten(0, 1).transpose(1, 2)
        vectors = self.project(torch.cat([window(characters).amax(2).relu() for window in self.windows], 1))
        vectors, lengths = vectors.view(*words.shape, -1), (words > 0).sum(1)
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        ahead, back = pad_packed_sequence(self.both(packed)[0], batch_first=True)[0].chunk(2, dim=2)
        loss = nn.CrossEntropyLoss(ignore_index=0)
        forward = loss(self.scores(ahead[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        return forward, loss(self.scores(back[:, 1:]).flatten(0, 1), words[:, :-1].flatten())


def batch_of(sentences: list[list[str]], numbers: dict[str, int]) -> tuple[Tensor, Tensor]:
    """Return the bytes of words plus one [B, L, 50], and the words' numbers [B, L]. Sentences begin and end with a mark."""
    spelt = [[[257], *([byte + 1 for byte in word.encode()[:CHARACTERS]] for word in words), [258]] for words in sentences]
    spelling = [torch.tensor([word + [0] * (CHARACTERS - len(word)) for word in words]) for words in spelt]
    targets = [torch.tensor([BEGIN, *(numbers.get(word, OTHER) for word in words), END]) for words in sentences]
    return pad_sequence(spelling, batch_first=True), pad_sequence(targets, batch_first=True)


def main() -> None:
    options, draw, _ = parse(), random.Random(0), torch.manual_seed(0)
    documents = polars.scan_ipc(options.corpus / "data" / "train-*.arrow").filter(polars.col("language") == "en").collect()
    sentences = [words for text in documents["sentences"].explode() if (words := re.findall(r"\w+|[^\w\s]", text))]
    draw.shuffle(sentences)
    held_out, train = sentences[: len(sentences) // 10], sentences[len(sentences) // 10 :]
    frequent = Counter(word for words in train for word in words).most_common(2000)
    numbers = {word: number for number, (word, _) in enumerate(frequent, OTHER + 1)}
    model = Model(len(numbers) + OTHER + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(options.steps):
        forward, backward = model(*batch_of(draw.sample(train, 32), numbers))
        optimizer.zero_grad()
        (forward + backward).backward()
        optimizer.step()
        print(f"step {step}  loss {(forward + backward).item() / 2:.4f}", flush=True)
    ends = [math.exp(loss.item()) for loss in model.eval()(*batch_of(held_out[:200], numbers))]
    print(f"held out: perplexity forward {ends[0]:.1f}, backward {ends[1]:.1f}, of {len(numbers)} words")


if __name__ == "__main__":
    main()
