"""Measure pairs: does anything except the text predict the label, and is any text lost, cut or paired wrongly?

    python benchmarks/pairs.py                             dumps and books of ../shared/data, or the sample

A column has the pairs of make-pairs, the next one those that BERT's original algorithm makes of the same corpus. AUC is how often
a NotNext pair scores above an IsNext pair: 0.5 if a fact predicts nothing. The last AUC is of a classifier that is fitted on all
facts and their products, and measured on other pairs. The exit code is 1 if bertdata's pairs miss a limit, or if an AUC is more
than 3 standard errors from 0.5.

Pairs need a partner of the same language and script, so the text of a language with one document is lost. The limit of other
losses leaves these languages out, and the table names them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import google_pairs
import numpy as np
import numpy.typing as npt
from google_pairs import Segment
from inputs import corpus, heading, rows

import bertdata
from bertdata.dataset import shards
from bertdata.reports.auc import auc
from bertdata.tokens.encode import Encoder
from bertdata.tokens.read import read_any

LIMITS = {  # of bertdata's pairs: figure -> minimum and maximum
    "NotNext share": (0.4995, 0.5005),
    "NotNext pairs with B of A's document": (0, 0),
    "IsNext pairs whose B follows A": (1, 1),
    "tokens lost to truncation": (0, 0.01),
    "tokens lost otherwise, languages with several documents": (0, 0.01),
}
Array = npt.NDArray[Any]
Pair = tuple[Segment, Segment, int]


class Document(NamedTuple):
    """A document: its language, its token ids as bytes of 4 each, and the starts of its sentences and its end in tokens."""

    language: str
    ids: bytes
    starts: list[int]


def main() -> int:
    """Print the table. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="directory for inputs, which later runs use again")
    options = parser.parse_args()
    columns: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        for length in (128, 512):
            config = bertdata.PairsConfig(max_seq_length=length, provenance=True)
            path = rows(work, f"pairs-{length}-ids", config)
            documents = read_documents(corpus(work), path)
            numbers = {id: number for number, id in enumerate(documents)}
            texts = list(documents.values())
            columns[f"{length} tokens"] = measure(read_pairs(path, numbers, texts), texts, length, truncated(path))
            control = google_pairs.make([document.starts for document in texts], length)
            columns[f"BERT's, {length}"] = measure(control, texts, length)
    print(f"{heading()}\n\n| | limit | {' | '.join(columns)} |\n|---|---:|{'---:|' * len(columns)}")
    for name in next(iter(columns.values())):
        low, high = LIMITS.get(name, (None, None))
        limit = "" if low is None else f"{low:g}" if low == high else f"{low:g} to {high:g}"
        cells = (f"{figures[name]:,.0f}" if name == "pairs" else f"{figures[name]:.4f}" for figures in columns.values())
        print(f"| {name} | {limit} | {' | '.join(cells)} |")
    alone = sorted(alone_languages(texts))
    print(f"\nLanguages with one document: {', '.join(alone) or 'none'}.")
    faults = [
        f"FAIL: {name} of {column} is {figures[name]:.4f}"
        for column, figures in columns.items()
        for name in figures
        if name.startswith("AUC") and not column.startswith("BERT") and leaks(name, figures)
    ]
    faults += [
        f"FAIL: {name} of {column} is {figures[name]:.4f}, not {low:g} to {high:g}"
        for column, figures in columns.items()
        for name, (low, high) in LIMITS.items()
        if not column.startswith("BERT") and not low <= figures[name] <= high
    ]
    print("\n".join(faults))
    return 1 if faults else 0


def read_documents(corpus: Path, pairs: Path) -> dict[str, Document]:
    """Read the documents of a corpus that have two sentences or more, with the token ids of the rows' vocabulary."""
    encoder, documents = Encoder(read_any(pairs)), dict[str, Document]()
    for shard in bertdata.open(corpus).shards:
        for batch in shards.read_batches(shard):
            sentences = batch.column("sentences")
            ids, ends = encoder.encode_documents(sentences, batch.column("paragraph_starts"))
            edges = np.concatenate([[0], ends])
            first = np.cumsum([0, *sentences.value_lengths().to_pylist()])
            names = zip(batch.column("id").to_pylist(), batch.column("language").to_pylist(), strict=True)
            for (id, language), start, end in zip(names, first, first[1:], strict=False):
                own = np.unique(edges[start : end + 1])  # a sentence may have no tokens
                if len(own) > 2:
                    text = ids[own[0] : own[-1]].astype(np.uint32).tobytes()
                    documents[id] = Document(language, text, (own - own[0]).tolist())
    return documents


def read_pairs(path: Path, numbers: dict[str, int], documents: list[Document]) -> list[Pair]:
    """Read rows, and find A and B in their documents. IsNext pairs are looked for as one text."""
    pairs = []
    for row in bertdata.Shards(path):
        ids, a = row["input_ids"].astype(np.uint32), int((row["token_type_ids"] == 0).sum())
        parts = [ids[1 : a - 1], ids[a:-1]]
        owners = [numbers[row["a_document"]], numbers[row["b_document"]]]
        starts = [position(documents[owner].ids, part.tobytes()) for owner, part in zip(owners, parts, strict=True)]
        if not row["next_sentence_label"]:
            together = position(documents[owners[0]].ids, np.concatenate(parts).tobytes())
            starts = [together, together + len(parts[0])] if together >= 0 else starts
        assert min(starts) >= 0, f"a segment is not in its document: {row}"
        a_side, b_side = ((owner, at, at + len(part)) for owner, at, part in zip(owners, starts, parts, strict=True))
        pairs.append((a_side, b_side, int(row["next_sentence_label"])))
    return pairs


def position(text: bytes, part: bytes) -> int:
    """Return the token at which a part begins in a text, or -1."""
    at = text.find(part)
    while at >= 0 and at % 4:
        at = text.find(part, at + 1)
    return at // 4 if at >= 0 else -1


def truncated(path: Path) -> int:
    """Return the number of tokens that rows lost because sentences did not fit."""
    return next(stage.dropped.get("truncation", 0) for stage in bertdata.open(path).counts if stage.stage == "tokens")


def measure(pairs: list[Pair], documents: list[Document], length: int, cut: int = 0) -> dict[str, float]:
    """Return all figures of pairs. `cut` tokens were lost to truncation."""
    (a_document, a_start, a_end), (b_document, b_start, b_end) = (np.array([pair[side] for pair in pairs]).T for side in (0, 1))
    labels = np.array([label for _, _, label in pairs])
    a, b, is_next, not_next = a_end - a_start, b_end - b_start, labels == 0, labels == 1
    languages = np.array([document.language for document in documents])
    same = a_document == b_document
    facts = {
        "A's length": a,
        "B's length": b,
        "both lengths": a + b,
        "A's position": a_start,
        "A's document": np.array([document.starts[-1] for document in documents])[a_document],
    }
    used = Counter[str]()
    for language, tokens in zip(languages[a_document], a + b, strict=True):
        used[language] += int(tokens)
    total = Counter[str]()
    for document in documents:
        total[document.language] += document.starts[-1]
    several = total.keys() - alone_languages(documents)
    figures = {
        "pairs": float(len(pairs)),
        "NotNext share": float(not_next.mean()),
        "padding": 1 - float((a + b + 3).mean()) / length,
        "NotNext pairs with B of A's document": float(same[not_next].mean()),
        "IsNext pairs whose B follows A": float((same & (a_end == b_start))[is_next].mean()),
        "tokens lost": 1 - used.total() / total.total(),
        "tokens lost to truncation": cut / total.total(),
        "tokens lost otherwise, languages with several documents": 1
        - (sum(used[c] for c in several) + cut) / sum(total[c] for c in several),
        **{f"AUC of {name}": auc(fact, labels)[0] for name, fact in facts.items()},
        "AUC of two languages": auc((languages[a_document] != languages[b_document]).astype(int), labels)[0],
    }
    for language in sorted(several, key=lambda code: used[code] / total[code]):
        if used[language] < 0.99 * total[language]:
            print(f"{length} tokens: {language} loses {1 - used[language] / total[language]:.2%} of its tokens", file=sys.stderr)
    figures["AUC of all facts, fitted"] = fitted(np.stack(list(facts.values()), 1), labels)
    return {**figures, "standard error": auc(a, labels)[1]}


def leaks(name: str, figures: dict[str, float]) -> bool:
    """Return True if an AUC is more than 3 standard errors from chance. The fitted one only counts above it."""
    distance = figures[name] - 0.5
    return (distance if name.endswith("fitted") else abs(distance)) > 3 * figures["standard error"]


def alone_languages(documents: list[Document]) -> set[str]:
    """Return the languages with one document."""
    return {code for code, number in Counter(document.language for document in documents).items() if number == 1}


def fitted(facts: Array, labels: Array, folds: int = 5) -> float:
    """Return the cross-validated AUC of a logistic regression on all facts and their products."""
    x = facts.astype(np.float64)
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9)
    one, other = np.triu_indices(x.shape[1])
    x = np.concatenate([np.ones((len(x), 1)), x, x[:, one] * x[:, other]], 1)
    fold, score = np.arange(len(x)) % folds, np.zeros(len(x))
    for number in range(folds):
        weights, own, wanted = np.zeros(x.shape[1]), x[fold != number], labels[fold != number]
        for _ in range(6):  # Newton's steps, with a ridge of 1
            p = 1 / (1 + np.exp(-np.clip(own @ weights, -30, 30)))
            slope = own.T @ (wanted - p) - weights
            weights = weights + np.linalg.solve((own * (p * (1 - p))[:, None]).T @ own + np.eye(own.shape[1]), slope)
        score[fold == number] = x[fold == number] @ weights
    return auc(score, labels)[0]


if __name__ == "__main__":
    sys.exit(main())
