"""Count what a task of `build-corpus` reads and writes, in one counter.

    in, out, dropped/redirect, rejected/truncated     records; those that enter are kept, dropped or rejected
    documents/en, words/en, characters/en             text that was kept, by language
    templates/sfn, formulas/written/math, marks/…     markup and text left out of documents, by name
    text_bytes, lost_bytes, removed_words, …          sums

A sum of tasks is `Counter.update`. The manifest divides the names at the slashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ..tally import Tally

TEMPLATES = "templates"
_LONG_SENTENCE_CHARS = 1000
_COUNTED = ("documents", "words", "characters", "unsplit_documents", "text_bytes")


def under(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counts below a prefix, in order of name.

    >>> under(Counter({"dropped/redirect": 2, "dropped/empty page": 1, "in": 9}), "dropped")
    {'empty page': 1, 'redirect': 2}
    """
    return {name[len(prefix) + 1 :]: count for name, count in sorted(counts.items()) if name.startswith(f"{prefix}/") and count}


def add_under(counts: Counter[str], prefix: str, more: Mapping[str, int]) -> None:
    """Add counts below a prefix."""
    counts.update({f"{prefix}/{name}": count for name, count in more.items()})


def tally(stage: str, counts: Mapping[str, int]) -> Tally:
    """Return the counts of records."""
    dropped, rejected = (Counter(under(counts, name)) for name in ("dropped", "rejected"))
    return Tally(stage, counts.get("in", 0), counts.get("out", 0), dropped, rejected)


def most_frequent(counts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """Return the names with the highest counts. Ties are sorted by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def without_rare_templates(counts: Counter[str], most: int) -> Counter[str]:
    """Keep the most frequent names of templates, because pages can name any number of them."""
    templates = under(counts, TEMPLATES)
    if len(templates) <= most:
        return counts
    rare = templates.keys() - dict(most_frequent(templates, most)).keys()
    return Counter({name: count for name, count in counts.items() if name.removeprefix(f"{TEMPLATES}/") not in rare})


def count_words(sentences: Iterable[str]) -> int:
    """Count words separated by whitespace, as `str.split` does. A word never spans two sentences.

    >>> count_words(["The kettle sang .", "\\u8336\\u3002"])
    5
    """
    return len(" ".join(sentences).split())


def count_text(batch: pa.RecordBatch, counts: Counter[str]) -> pa.RecordBatch:
    """Count the text of a batch, by language as ``words/en``, and return the batch unchanged.

    A document that is one long sentence was probably not divided into sentences.
    """
    for language, column in zip(batch.column("language").to_pylist(), batch.column("sentences"), strict=True):
        sentences = column.as_py()
        size = sum(map(len, sentences))
        counts[f"documents/{language}"] += 1
        counts[f"words/{language}"] += count_words(sentences)
        counts[f"characters/{language}"] += size
        counts["unsplit_documents"] += size > _LONG_SENTENCE_CHARS and len(sentences) == 1
    counts["text_bytes"] += pc.sum(pc.binary_length(batch.column("sentences").flatten())).as_py() or 0
    return batch


def without_text(counts: Mapping[str, int]) -> Counter[str]:
    """Return the counts of a task except those of `count_text`."""
    return Counter({name: count for name, count in counts.items() if name.partition("/")[0] not in _COUNTED})
