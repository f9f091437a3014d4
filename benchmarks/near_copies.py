"""Measure `--dedup near`: which planted near-copies it finds, what else it drops, and what it costs.

    python benchmarks/near_copies.py CORPUS             a directory that build-corpus has written
    python benchmarks/near_copies.py CORPUS --documents 5000 --threshold 0.7

Of each document one copy is planted, edited in one way: a share of its words, drawn one by one, is exchanged, or a share of its
text in one run of words.  The new words are those of another document, written backwards.  The true similarity of a copy is
that of the sets of shingles.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from measured import run
from ratios import ratio

from bertdata.build.selection.duplicates import normal
from bertdata.build.selection.minhash import Signer

SIZES = {"tiny": ["{corpus} --documents 40"], "small": ["{corpus} --documents 1000"], "full": ["{corpus}"]}
EDITS = [(how, share) for how in ("words", "run") for share in (0.0, 0.05, 0.1, 0.2)]


class Copy(NamedTuple):
    """A planted copy: how it was edited, and how similar it is to its original."""

    edit: tuple[str, float]
    similarity: float


def main() -> None:
    """Plant copies, build twice, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--threshold", type=float, default=0.8)
    options = parser.parse_args()
    texts = _texts(options.corpus, options.documents)
    with tempfile.TemporaryDirectory(prefix="bertdata-near-") as work:
        planted = _plant(texts, Path(work) / "text.jsonl")
        size = (Path(work) / "text.jsonl").stat().st_size
        print(f"{len(texts)} documents and a copy of each, {size / 1e6:.1f} MB of JSONL")
        seconds = [_build(Path(work), name) for name in ("exact", f"near --near-threshold {options.threshold}")]
        print(f"CPU seconds: --dedup exact {seconds[0]:.1f}, --dedup near {seconds[1]:.1f}")
        ratio("build-corpus --dedup near", seconds[1], "CPU s", "--dedup exact", seconds[0], less=True)
        print(f"near costs {size / 1e6 / max(0.01, seconds[1] - seconds[0]):.1f} MB/s beyond exact")
        _report(planted, _dropped(Path(work) / "near"), options.threshold)


def _texts(corpus: Path, count: int) -> list[list[str]]:
    """Read documents of at least 50 words, evenly from the corpus."""
    found = []
    for path in sorted((corpus / "data").glob("*.arrow")):
        with pa.memory_map(str(path)) as source:
            for sentences in pa.ipc.open_stream(source).read_all().column("sentences").to_pylist():
                if len(words := " ".join(sentences).split()) >= 50:
                    found.append(words)
    return [found[i * len(found) // min(count, len(found))] for i in range(min(count, len(found)))]


def _plant(texts: list[list[str]], path: Path) -> dict[str, Copy]:
    """Write originals, then copies; return what the copies are, by id."""
    draw, signer, planted = random.Random(5), Signer(), {}
    with path.open("w", encoding="utf-8") as file:
        for number, words in enumerate(texts):
            file.write(json.dumps({"id": f"original-{number}", "text": " ".join(words)}) + "\n")
        for number, words in enumerate(texts):
            edit = EDITS[number % len(EDITS)]
            edited = _edit(words, edit, draw.choice(texts), draw)
            file.write(json.dumps({"id": f"copy-{number}", "text": " ".join(edited)}) + "\n")
            one, other = ({*signer._shingles(normal(" ".join(own))).tolist()} for own in (words, edited))
            planted[f"copy-{number}"] = Copy(edit, len(one & other) / max(1, len(one | other)))
    return planted


def _edit(words: list[str], edit: tuple[str, float], others: list[str], draw: random.Random) -> list[str]:
    how, share = edit
    if how == "words":
        return [draw.choice(others)[::-1] if draw.random() < share else word for word in words]
    length = round(share * len(words))
    start = draw.randrange(len(words) - length + 1)
    return [*words[:start], *(draw.choice(others)[::-1] for _ in range(length)), *words[start + length :]]


def _build(work: Path, dedup: str) -> float:
    """Build a corpus in a directory named after the first word; return the CPU seconds."""
    given = ["--text", str(work / "text.jsonl"), "--id-column", "id", "--dedup", *dedup.split(), "--workers", "1"]
    return run(["build-corpus", *given, "--output", str(work / dedup.split()[0])]).cpu


def _dropped(corpus: Path) -> dict[str, str]:
    files = sorted((corpus / "dropped").glob("*.jsonl"))
    entries = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return {entry["id"].rpartition(":")[2]: entry["reason"] for entry in entries if "duplicate" in entry["reason"]}


def _report(planted: dict[str, Copy], dropped: dict[str, str], threshold: float) -> None:
    print(f"{'edit':12}{'copies':>8}{'similarity':>12}{'found':>8}{'over the threshold':>20}{'found of them':>15}")
    groups: dict[tuple[str, float], list[str]] = defaultdict(list)
    for id, copy in planted.items():
        groups[copy.edit].append(id)
    for (how, share), ids in groups.items():
        near = [id for id in ids if planted[id].similarity >= threshold]
        mean = sum(planted[id].similarity for id in ids) / len(ids)
        of_near = f"{sum(id in dropped for id in near) / len(near):.3f}" if near else "–"
        found = sum(id in dropped for id in ids) / len(ids)
        print(f"{how:6}{share:6.0%}{len(ids):8}{mean:12.3f}{found:8.3f}{len(near):20}{of_near:>15}")
    below = [id for id, copy in planted.items() if copy.similarity < threshold - 0.1]
    print(f"copies less similar than {threshold - 0.1:.1f}: {len(below)}, dropped {sum(id in dropped for id in below)}")
    print(f"originals dropped: {sum(id.startswith('original') for id in dropped)} of {len(planted)}")


if __name__ == "__main__":
    main()
