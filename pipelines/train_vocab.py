"""A corpus to a vocabulary: count the words of a sample, batch by batch, then train on the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa

from bertdata import manifest, shards, vocab
from bertdata.config import VocabConfig
from bertdata.files import file_entry, write_json
from bertdata.manifest import Tally
from bertdata.output import STATE
from bertdata.records import Task

from . import corpus
from .transforms import Gather, Perform, Tasks

__all__ = ["TrainVocab"]

_WORDS = pa.schema([("word", pa.string()), ("count", pa.int64())])


class TrainVocab(beam.PTransform):
    """Tasks -> word counts of each -> one vocabulary."""

    def __init__(self, source: corpus.Corpus, config: VocabConfig, root: Path) -> None:
        super().__init__()
        self._source, self._config, self._root = source, config, root

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        share = min(1.0, self._config.sample_bytes / max(1, self._source.text_bytes))
        work = CountWords(str(self._root), self._config, share, self._source.reader())
        return (
            begin
            | "Tasks" >> Tasks(self._source.tasks)
            | "Count words" >> beam.ParDo(Perform(self._root, "count", work))
            | "Train" >> Gather(Train(str(self._root), self._config, share, self._source.inputs()))
        )


@dataclass(frozen=True)
class CountWords:
    """Count the words of the documents of a task that are in the sample."""

    root: str
    config: VocabConfig
    share: float
    reader: corpus.Reader

    def __call__(self, task: Task) -> dict[str, Any]:
        words: Counter[str] = Counter()
        tally = Tally("documents")
        sampled = 0
        for ids, documents in self.reader.sentences(task):
            chosen = [d for i, d in zip(ids, documents, strict=True) if vocab.is_sampled(self.config.seed, i, self.share)]
            tally.entered += len(ids)
            tally.left += len(chosen)
            text = [sentence for document in chosen for sentence in document]
            sampled += sum(len(sentence.encode()) for sentence in text)
            words.update(vocab.count_words(text, self.config))
        tally.dropped["not in the sample"] += tally.entered - tally.left
        batch = pa.record_batch([sorted(words), [words[word] for word in sorted(words)]], schema=_WORDS)
        name = f"{STATE}/work/words-{task.number:05d}.arrow"
        file = shards.write(Path(self.root), name, _WORDS, [batch], "arrow-stream")
        return {"files": [file], "tally": tally.to_json(), "sampled_bytes": sampled}


@dataclass(frozen=True)
class Train:
    """Add up the counts, train, and write the vocabulary and, last, the manifest."""

    root: str
    config: VocabConfig
    share: float
    inputs: list[dict[str, Any]]

    def roots(self) -> list[Path]:
        """Return the directory of the vocabulary."""
        return [Path(self.root)]

    def __call__(self, reports: list[dict[str, Any]]) -> None:
        root = Path(self.root)
        tally = Tally("documents")
        for report in reports:
            tally.merge(Tally.from_json(report["tally"]))
        words = Counter[str]()
        for report in reports:
            words.update(dict(_read_words(root / report["files"][0]["name"])))
        vocabulary = vocab.train(words, self.config)
        names = vocab.write(root, vocabulary)
        made = manifest.make(
            "vocabulary",
            config=self.config.identity(),
            inputs=self.inputs,
            shards=[],
            tallies=[tally],
            files=[file_entry(root, name) for name in names],
            size=len(vocabulary.pieces),
            sample={
                "share": self.share,
                "bytes": sum(report["sampled_bytes"] for report in reports),
                "words": sum(words.values()),
                "distinct_words": len(words),
            },
        )
        write_json(root / manifest.NAME, made)


def _read_words(path: Path) -> Iterator[tuple[str, int]]:
    for batch in shards.read_batches(path, "arrow-stream"):
        yield from zip(batch.column("word").to_pylist(), batch.column("count").to_pylist(), strict=True)
