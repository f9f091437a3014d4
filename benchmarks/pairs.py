"""Measure pairs: does anything except the text predict the label, and is any text lost, cut or used twice?

    python benchmarks/pairs.py pairs-128 pairs-512 --corpus corpus --control
    python benchmarks/pairs.py theirs.jsonl --vocab vocab.txt --corpus corpus --length 128

The input is a directory of make-pairs, or JSONL with the columns ``input_ids``, ``token_type_ids`` and ``next_sentence_label``.
With the
corpus that they were made from, each segment is located in it.  `--control` also measures, for each directory, the pairs that
BERT's original algorithm makes of that corpus.  The exit code is 1 if a directory written by bertdata misses a limit.

AUC is how often a NotNext pair scores above an IsNext pair: 0.5 if a fact predicts nothing, 0 or 1 if it predicts perfectly.  The
table of all benchmarks has its distance from 0.5. A distance below the standard error is chance and is reported as that error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import google_pairs
import numpy as np
import numpy.typing as npt
from google_pairs import Text
from locate import Hashes, Index
from ratios import ratio

from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.stages import corpus_reader as corpora
from bertdata.stages.rows import partners
from bertdata.tokens import vocab
from bertdata.tokens.encode import Encoder
from bertdata.tokens.read import read_any

SIZES = {
    "tiny": ["{pairs} --corpus {corpus} --control"],
    "small": ["{pairs} --corpus {corpus} --control"],
    "full": ["{pairs} --corpus {corpus} --control"],
}
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
WITHIN = {  # limits of a directory written by bertdata: name -> minimum and maximum
    "NotNext share": (0.4995, 0.5005),
    "B from A's document, of NotNext": (0, 0),
    "junction kept, of IsNext": (1, 1),
    "starts inside a word, of segments": (0, 0),
    "rows of another layout": (0, 0),
    "rows over the length": (0, 0),
    "tokens used too often": (0, 0),
    "tokens lost": (0, 0.01),
    **{f"AUC {fact}": (0.49, 0.51) for fact in ("A", "B", "pair", "A's position", "A's document")},
    **{f"AUC two {fact}": (0.49, 0.51) for fact in ("languages", "scripts")},  # no limit for sources
    "AUC of all, fitted": (0, 0.51),
    "bytes a token": (0, 3.2),
}


TOLD = (  # figures for the table of all benchmarks: name, meaning, unit, whether lower is better
    ("AUC of all, from 0.5", "label leakage through lengths and positions", "AUC minus 0.5", True),
    ("AUC two languages, from 0.5", "label leakage through languages", "AUC minus 0.5", True),
    ("junction kept, of IsNext", "IsNext pairs in which B does follow A", "share", False),
)


class Rows(NamedTuple):
    """Pairs as flat ids and segment ids [T], `ends` [N + 1], labels [N]. `length` is the maximum tokens, `bytes` the file
    size."""

    ids: Ints
    types: Ints
    ends: Ints
    labels: Ints
    length: int
    bytes: int
    copies: int


def main() -> int:
    """Print a column of figures for each directory, with its control in the next column."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", type=Path)
    parser.add_argument("--corpus", type=Path, help="directory of build-corpus that the pairs were made from")
    parser.add_argument("--vocab", type=Path, help="vocab.txt or its directory; default: the pairs' own")
    parser.add_argument("--length", type=int, default=0, help="max_seq_length; default: the manifest's, or the longest row")
    parser.add_argument("--control", action="store_true", help="measure BERT's own algorithm on the corpus too")
    options = parser.parse_args()
    if options.control and not options.corpus:
        parser.error("--control needs --corpus")
    columns: dict[str, dict[str, float]] = {}
    broken: list[str] = []
    for path in options.pairs:
        vocabulary = read_any(options.vocab or path)
        rows = read(path, options.length)
        text = tokenize(options.corpus, vocabulary) if options.corpus else None
        measured = columns[str(path)] = measure(rows, vocabulary, text)
        if (path / manifest.NAME).exists():
            broken += [f"{path}: {n}" for n, (low, high) in WITHIN.items() if n in measured and not low <= measured[n] <= high]
        if options.control and text is not None:
            theirs = columns[f"google {rows.length}"] = measure(control(text, rows, vocabulary), vocabulary, text)
            for name, what, unit, less in TOLD:
                ratio(f"{what}, {rows.length} tokens", measured[name], unit, "BERT's own algorithm", theirs[name], less=less)
    show(columns)
    for name in broken:
        print("NOT KEPT", name)
    return 1 if broken else 0


def read(path: Path, length: int = 0, split: str = "") -> Rows:
    """Read one split or all of a directory of make-pairs, or JSONL."""
    if not (path / manifest.NAME).exists():
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        lines = [json.loads(line) for file in files for line in file.open(encoding="utf-8")]
        names = ("input_ids", "token_type_ids")
        flat, kinds = (np.concatenate([np.array(line[name], np.int64) for line in lines]) for name in names)
        ends = np.append(0, np.cumsum([len(line["input_ids"]) for line in lines]))
        answers = np.array([line["next_sentence_label"] for line in lines])
        return Rows(flat, kinds, ends, answers, length or int(np.diff(ends).max()), 0, 1)
    made = manifest.read(path, PairsManifest)
    if made.settings.objective != "nsp":
        sys.exit(f"{path} holds no pairs for next sentence prediction")
    files_of_split = [shard.name for shard in made.shards if shard.name.startswith(f"data/{split}")]
    batches = [batch for name in files_of_split for batch in shards.read_batches(path / name)]
    columns = [[b.column(name) for b in batches] for name in ("input_ids", "token_type_ids", "next_sentence_label")]
    ids, types = (np.concatenate([c.flatten().to_numpy() for c in column]).astype(np.int64) for column in columns[:2])
    ends = np.append(0, np.cumsum(np.concatenate([c.value_lengths().to_numpy() for c in columns[0]])))
    labels = np.concatenate([c.to_numpy() for c in columns[2]]).astype(np.int64)
    if made.settings.masking == "static":
        ids = unmasked(ids, ends, batches)
    plain = batches[0].num_columns == len(columns)  # the size limit does not apply to additional columns
    size, copies = plain * sum(s.bytes for s in made.shards), made.settings.dupe_factor
    return Rows(ids, types, ends, labels, length or made.settings.max_seq_length, size, copies)


def unmasked(ids: Ints, ends: Ints, batches: Sequence[Any]) -> Ints:
    """Restore the original ids of the masked positions."""
    positions, answers = ([b.column(f"masked_lm_{name}") for b in batches] for name in ("positions", "labels"))
    counts = np.concatenate([p.value_lengths().to_numpy() for p in positions])
    where = np.repeat(ends[:-1], counts) + np.concatenate([p.flatten().to_numpy() for p in positions])
    ids[where] = np.concatenate([a.flatten().to_numpy() for a in answers])
    return ids


def tokenize(path: Path, vocabulary: vocab.Vocabulary) -> Text:
    """Tokenize a corpus."""
    source = corpora.read(path)
    encoder = Encoder(vocabulary)
    parts, ends, counts, names, base = [], [np.zeros(1, np.int64)], [0], list[str](), 0
    origins: list[tuple[str, ...]] = []  # source, language and script of each document
    for task in source.tasks:
        for ids, sources, languages, documents in source.reader.columns(task, "id", "source", "language", "sentences"):
            origins += partners.origins(sources, languages, documents, True)
            tokens, own = encoder.encode(documents.flatten())
            parts.append(tokens)
            ends.append(own + base)
            base += len(tokens)
            counts += documents.value_lengths().to_pylist()
            names += ids.to_pylist()
    return Text(np.concatenate(parts).astype(np.int64), np.concatenate(ends), np.cumsum(counts), names, origins)


def control(text: Text, like: Rows, vocabulary: vocab.Vocabulary) -> Rows:
    """Make pairs with BERT's original algorithm, of the same text and length."""
    made = google_pairs.make(text, like.length)
    cls, sep = ([vocabulary.pieces.index(name)] for name in ("[CLS]", "[SEP]"))
    parts = [part for (a, b), (c, d), _ in made for part in (cls, text.tokens[a:b], sep, text.tokens[c:d], sep)]
    sizes = np.array([(b - a + 2, d - c + 1) for (a, b), (c, d), _ in made])
    types = np.repeat(np.tile([0, 1], len(made)), sizes.ravel())
    labels = np.array([label for _, _, label in made])
    return Rows(np.concatenate(parts), types, np.append(0, np.cumsum(sizes.sum(1))), labels, like.length, 0, 1)


def measure(rows: Rows, vocabulary: vocab.Vocabulary, text: Text | None) -> dict[str, float]:
    """Measure all figures that are possible with or without the corpus."""
    start, size = rows.ends[:-1], np.diff(rows.ends)
    b = np.add.reduceat(rows.types, start)
    a = size - b - 3
    b -= 1
    a += 1
    continues, pieces = vocabulary.continues(), vocabulary.pieces
    cls, sep = pieces.index("[CLS]"), pieces.index("[SEP]")
    laid_out = (rows.ids[start] == cls) & (rows.ids[start + a + 1] == sep) & (rows.ids[rows.ends[1:] - 1] == sep)
    laid_out &= (rows.types == np.repeat(np.tile([0, 1], len(a)), np.stack([a + 2, b + 1], 1).ravel())).all()
    tokens = int((a + b).sum())
    figures: dict[str, float] = {"rows": len(size), "NotNext share": float(rows.labels.mean())}
    figures["padding share"] = 1 - float(rows.ends[-1]) / (len(size) * rows.length)
    figures["rows of another layout"] = float((~laid_out).sum())
    figures["rows over the length"] = float((size > rows.length).sum())
    inside = continues[rows.ids[start + 1]].astype(int) + continues[rows.ids[start + a + 2]]
    figures["starts inside a word, of segments"] = float(inside.mean() / 2)
    if rows.bytes:
        figures["bytes a token"] = rows.bytes / float(rows.ends[-1])
    facts: dict[str, Ints] = {"A": a, "B": b, "pair": a + b}
    if text is not None:
        facts |= against(figures, rows, text, a, b)
        counts = [np.bincount(ids, minlength=len(pieces)) for ids in (rows.ids, text.tokens)]
        extra = counts[0] - rows.copies * counts[1]
        extra[[cls, sep]] = 0
        figures["tokens used too often"] = float(extra.clip(0).sum())
        figures["tokens lost"] = 1 - tokens / (rows.copies * usable(text))
    for name, fact in facts.items():
        figures[f"AUC {name}"] = auc(fact, rows.labels)
    figures["AUC of all, fitted"] = fitted(np.stack(list(facts.values()), 1), rows.labels)
    figures["AUC of all, from 0.5"] = distance(figures["AUC of all, fitted"], rows.labels)
    return figures


def usable(text: Text) -> int:
    """Count the tokens of documents with at least two sentences."""
    full = np.append(0, np.cumsum(np.diff(text.sentences) > 0))[text.documents]
    return int(np.diff(text.sentences[text.documents])[np.diff(full) > 1].sum())


def against(figures: dict[str, float], rows: Rows, text: Text, a: Ints, b: Ints) -> dict[str, Ints]:
    """Find the segments in the corpus. Measure junctions and documents, and return facts about the segments' positions."""
    index, hashes, start = Index(text.tokens), Hashes(rows.ids), rows.ends[:-1]
    starts = np.zeros(len(text.tokens) + 1, bool)
    starts[text.sentences] = True
    bounds = text.sentences[text.documents]
    numbers: dict[str, int] = {}
    identity = np.array([numbers.setdefault(name, len(numbers)) for name in text.ids])
    a_row, a_position = index.find(hashes, start + 1, a)
    b_row, b_position = index.find(hashes, start + a + 2, b)
    kept = np.zeros(len(a), bool)
    for row, junction in ((a_row, a_position + a[a_row]), (b_row, b_position)):
        both = (junction - a[row] >= 0) & (junction + b[row] <= len(text.tokens))
        row, junction = row[both], junction[both]
        same = index.hashes.of(junction - a[row], a[row]) == hashes.of(start[row] + 1, a[row])
        same &= index.hashes.of(junction, b[row]) == hashes.of(start[row] + a[row] + 2, b[row])
        kept[row[same & starts[junction]]] = True
    figures["junction kept, of IsNext"] = float(kept[rows.labels == 0].mean())
    documents = [np.searchsorted(bounds, position, "right") - 1 for position in (a_position, b_position)]
    pairs = [np.unique(np.stack([r, identity[d]], 1), axis=0) for r, d in zip((a_row, b_row), documents, strict=True)]
    sure = [np.bincount(p[:, 0], minlength=len(a)) == 1 for p in pairs]  # found in only one document
    own = [np.full(len(a), -1), np.full(len(a), -2)]
    for side, pair in zip(own, pairs, strict=True):
        side[pair[:, 0]] = pair[:, 1]
    known = sure[0] & sure[1] & (rows.labels == 1)
    figures["documents known, of NotNext"] = float(known.sum() / (rows.labels == 1).sum())
    figures["B from A's document, of NotNext"] = float((own[0] == own[1])[known].mean())
    position, document, last = (np.zeros(len(a), np.int64) for _ in range(3))
    position[a_row[::-1]], document[a_row[::-1]] = a_position[::-1], documents[0][::-1]  # the first of several positions
    last[b_row[::-1]] = (b_position + b[b_row])[::-1]
    figures["found, of segments"] = float(np.isin(np.arange(len(a)), a_row).mean() + np.isin(np.arange(len(a)), b_row).mean()) / 2
    other = np.full(len(a), -1)
    other[b_row[::-1]] = documents[1][::-1]
    for number, fact in enumerate(("sources", "languages", "scripts")):
        of = np.unique([origin[number] for origin in text.origins], return_inverse=True)[1]
        figures[f"AUC two {fact}"] = auc((of[document] != of[other]) & (other >= 0) & ~kept, rows.labels)
    figures["AUC two languages, from 0.5"] = distance(figures["AUC two languages"], rows.labels)
    ends_early = kept & (rows.labels == 0) & ~np.isin(last, bounds)
    figures["short, of IsNext inside a document"] = float((np.diff(rows.ends) < rows.length * 15 / 16)[ends_early].mean())
    return {
        "A's position": position - bounds[document],
        "A's document": np.diff(bounds)[document],
        "A begins a sentence": starts[position].astype(np.int64),
        "B ends a sentence": starts[last].astype(np.int64),
    }


def auc(score: npt.NDArray[Any], label: Ints) -> float:
    """Return how often label 1 scores above label 0. Ties count half.

    >>> auc(np.array([1, 2, 2, 3]), np.array([0, 0, 1, 1]))
    0.875
    """
    _, position, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position]
    n, m = int((label == 1).sum()), int((label == 0).sum())
    return float((ranks[label == 1].sum() - n * (n + 1) / 2) / (n * m))


def distance(area: float, label: Ints) -> float:
    """Return an AUC's distance from chance, or its standard error under chance (Mann and Whitney 1947) if that is larger.

    >>> round(distance(0.25, np.array([0, 1] * 600)), 4), round(distance(0.5, np.array([0, 1] * 600)), 4)
    (0.25, 0.0167)
    """
    ones = int((label == 1).sum())
    zeros = len(label) - ones
    return max(abs(area - 0.5), float(np.sqrt((ones + zeros + 1) / (12 * ones * zeros))))


def fitted(facts: Ints, label: Ints, folds: int = 5) -> float:
    """Return the cross-validated AUC of a logistic regression on all facts and their products."""
    x = facts.astype(np.float64)
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9)
    one, other = np.triu_indices(x.shape[1])
    x = np.concatenate([np.ones((len(x), 1)), x, x[:, one] * x[:, other]], 1)
    fold, score = np.arange(len(x)) % folds, np.zeros(len(x))
    for number in range(folds):
        weights = _newton(x[fold != number], label[fold != number])
        score[fold == number] = x[fold == number] @ weights
    return auc(score, label)


def _newton(x: Floats, label: Ints, steps: int = 6, ridge: float = 1.0) -> Floats:
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (label - p) - ridge * weights
        weights = weights + np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1]), slope)
    return weights


def show(columns: dict[str, dict[str, float]]) -> None:
    """Print the figures side by side, with their limits."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    heads = [Path(name).name[-14:] for name in columns]
    print(f"{'':36}{'promised':>16}" + "".join(f"{head:>16}" for head in heads))
    for name in names:
        low, high = WITHIN.get(name, (None, None))
        promise = "" if low is None else f"{low:g}" if low == high else f"{low:g} … {high:g}"
        cells = [figures.get(name) for figures in columns.values()]
        shown = ["" if c is None else f"{c:,.0f}" if name == "rows" else f"{c:.4f}" for c in cells]
        print(f"{name:36}{promise:>16}" + "".join(f"{cell:>16}" for cell in shown))


if __name__ == "__main__":
    sys.exit(main())
