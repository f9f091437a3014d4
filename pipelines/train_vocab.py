"""A corpus to a vocabulary: count the words of a sample, batch by batch, train on the counts, and say what that covers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa

from bertdata import manifest, shards, tokens, vocab
from bertdata.config import VocabConfig
from bertdata.files import file_entry, place
from bertdata.manifest import Tally
from bertdata.output import STATE
from bertdata.records import Task
from bertdata.report.coverage import Coverage

from . import corpus
from .transforms import Gather, Perform, Tasks

__all__ = ["TrainVocab"]

_LANGUAGES = 1000  # that are told apart in a task; text of further ones counts as of none
_WORDS = pa.schema([("language", pa.string()), ("word", pa.string()), ("count", pa.int64())])


class TrainVocab(beam.PTransform):
    """Tasks -> word counts of each, by language -> one vocabulary."""

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
            | "Train" >> Gather(Train(str(self._root), self._config, share, self._source.reader()), len(self._source.tasks))
        )


@dataclass(frozen=True)
class CountWords:
    """Count the words of the documents of a task that are in the sample, by language: a record batch for each."""

    root: str
    config: VocabConfig
    share: float
    reader: corpus.Reader

    def __call__(self, task: Task) -> dict[str, Any]:
        parts: dict[str, Counter[str]] = defaultdict(Counter)
        tally = Tally("documents")
        sampled = 0
        for ids, languages, documents in self.reader.columns(task, "id", "language", "sentences"):
            text: dict[str, list[str]] = defaultdict(list)
            for doc_id, language, sentences in zip(ids.to_pylist(), languages.to_pylist(), documents, strict=True):
                if vocab.is_sampled(self.config.seed, doc_id, self.share):
                    tally.left += 1
                    text[language if language in parts or len(parts) < _LANGUAGES else ""] += sentences.as_py()
            tally.entered += len(ids)
            for language, sentences in text.items():
                sampled += sum(len(sentence.encode()) for sentence in sentences)
                parts[language].update(tokens.count_parts(sentences))
        tally.dropped["not in the sample"] += tally.entered - tally.left
        name = f"{STATE}/work/words-{task.number:05d}.arrow"
        file = shards.write(place(self.root), name, _WORDS, self._batches(parts), "arrow-stream")
        return {"files": [file], "tally": tally.to_json(), "sampled_bytes": sampled}

    def _batches(self, parts: dict[str, Counter[str]]) -> Iterator[pa.RecordBatch]:
        tokenizer = vocab.Vocabulary(list(vocab.SPECIAL), self.config.lowercase, self.config.strip_accents).tokenizer()
        for language in sorted(parts):
            words = sorted(tokens.parts_to_words(parts.pop(language), tokenizer).items())
            columns = [[language] * len(words), [word for word, _ in words], [count for _, count in words]]
            yield pa.record_batch(columns, schema=_WORDS)


@dataclass(frozen=True)
class Train:
    """Add up the counts, train, and write the vocabulary and, last, the manifest."""

    root: str
    config: VocabConfig
    share: float
    source: corpus.Reader

    def roots(self) -> list[Path]:
        """Return the directory of the vocabulary."""
        return [place(self.root)]

    def __call__(self, reports: list[dict[str, Any]]) -> None:
        root = place(self.root)
        tally = Tally("documents")
        words = Counter[str]()
        files = [root / report["files"][0]["name"] for report in reports]
        for report in reports:
            tally.merge(Tally.from_json(report["tally"]))
        for _, own, counts in _read_words(files):
            for word, count in zip(own, counts.tolist(), strict=True):
                words[word] += count
        vocabulary = vocab.train(words, self.config)
        names = vocab.write(root, vocabulary)
        made = manifest.make(
            "vocabulary",
            config=self.config.identity(),
            inputs=self.source.inputs(),
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
            coverage=_coverage(files, vocabulary),
        )
        manifest.write(root, made)


def _read_words(files: list[Path]) -> Iterator[tuple[str, list[str], np.ndarray[Any, Any]]]:
    """Yield, for each file and language of it, words and their counts."""
    for path in files:
        for batch in shards.read_batches(path, "arrow-stream"):
            if batch.num_rows:
                yield batch.column("language")[0].as_py(), batch.column("word").to_pylist(), batch.column("count").to_numpy()


def _coverage(files: list[Path], vocabulary: vocab.Vocabulary) -> dict[str, Any]:
    """Cut all counted words with the vocabulary; a language's counts are sums over files, so they are added file by file."""
    encoder = tokens.Encoder(vocabulary.tokenizer(), len(vocabulary.pieces))
    unknown = vocabulary.pieces.index("[UNK]")
    found: dict[str, Coverage] = defaultdict(Coverage)
    for language, words, counts in _read_words(files):
        ids, ends = encoder.encode(words)
        found[language].add(words, counts, np.diff(ends, prepend=0), ids[ends - 1] == unknown)

    def cut(word: str) -> str:
        return " ".join(vocabulary.pieces[i] for i in encoder.encode([word])[0])

    return {language: found[language].result(cut) for language in sorted(found)}
