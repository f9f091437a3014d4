"""Count how much text a task has written, by language: documents, words as `str.split` counts them, and characters."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import pyarrow as pa

__all__ = ["Amounts", "count_words"]


def count_words(sentences: Iterable[str]) -> int:
    """Count what stands between white space, as `str.split` does; a sentence ends a word.

    >>> count_words(["The kettle sang .", "\\u8336\\u3002"])
    5
    """
    return sum(len(sentence.split()) for sentence in sentences)


class Amounts:
    """Sums over record batches of documents."""

    def __init__(self) -> None:
        self._languages: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count a batch, and return it."""
        for language, sentences in zip(batch.column("language").to_pylist(), batch.column("sentences"), strict=True):
            text = sentences.as_py()
            counts = self._languages[language]
            counts.update(documents=1, words=count_words(text), characters=sum(map(len, text)))
        return batch

    def merge(self, amounts: Mapping[str, Mapping[str, int]]) -> None:
        """Add the sums of another task, as `to_json` returns them."""
        for language, counts in amounts.items():
            self._languages[language].update(counts)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return the sums by language."""
        return {language: dict(counts) for language, counts in sorted(self._languages.items())}
