"""Make the inputs of the benchmarks: a corpus, a vocabulary and rows, of the dumps and books in ../shared or of the sample."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path

import bertdata
from bertdata.sample import sample

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"


def heading() -> str:
    """Return the line that belongs to every table: date, commit and machine."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    cpus = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in cpus.splitlines() if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{datetime.date.today()}, commit {commit.stdout.strip() or 'unknown'}, {os.cpu_count()} cores of {model}."


def corpus(work: Path) -> Path:
    """Return a corpus of the dumps in 13 languages and the books of ../shared, or of the sample, made once in a directory."""
    if SHARED.is_dir():
        dumps = [path for path in sorted((SHARED / "data" / "wiki").glob("*.xml*")) if "broken" not in path.name]
        books = SHARED / "data" / "books"
    else:
        dumps, books = sorted(sample().glob("*stream.xml.bz2")), sample() / "books"
    config = bertdata.CorpusConfig(max_rejects=1.0)  # one dump is cut
    made = bertdata.build_corpus(wikipedia=dumps, books=books, output=work / "corpus", config=config, workers=1)
    return made.path


def vocabulary(work: Path, size: int = 30522) -> Path:
    """Return a vocabulary of that corpus."""
    config = bertdata.VocabConfig(size=size)
    return bertdata.train_vocab(corpus(work), output=work / "vocab", config=config, workers=1).path


def rows(work: Path, name: str, config: bertdata.PairsConfig) -> Path:
    """Return rows of that corpus."""
    (made,) = bertdata.make_pairs(corpus(work), vocab=vocabulary(work), output=work / name, config=config, workers=1)
    return made.path
