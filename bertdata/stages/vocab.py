"""Train a vocabulary on a corpus: count the words of a sample, task by task, train on the counts, and report coverage.

Words are counted with accents. If accents are stripped, that happens when the counts are added up. The result is
the same as counting a text without accents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .. import keys
from ..codec import Count
from ..config import VocabConfig
from ..dataset import manifest, manifest_records, shards
from ..dataset.build import STATE
from ..dataset.manifest_records import File, RowFile
from ..dataset.manifest_types import VocabManifest
from ..dataset.tasks import TaskReport
from ..errors import few
from ..records import FileRange, Task
from ..reports.coverage import Coverage
from ..reports.page import write_beside
from ..run.job import Job, Stage, on_worker
from ..storage.files import to_path
from ..tally import StageCounts, Tally
from ..text.language import among
from ..tokens import train, vocab
from ..tokens.encode import Encoder, choose
from .corpus_reader import MAX_BATCHES, Corpus, DocumentReader

_MAX_LANGUAGES = 1000  # maximum languages counted separately per task; the text of others counts as language ""
_ENGLISH_SHARE = 0.98  # minimum share of English characters to strip accents; a few foreign documents do not change that
_MAX_NAMED_LANGUAGES = 5  # other languages listed in the reason
_READ_RATIO = 4  # text read from a large corpus, as a multiple of the sample's text
_MIN_BATCHES = 64  # minimum record batches read: 128 MB of text from build-corpus
_WORDS_SCHEMA = pa.schema([("language", pa.string()), ("word", pa.string()), ("count", pa.int64())])


class Sample(NamedTuple):
    """A sample of a corpus: `share` of all documents, which is `share_of_read` of the documents that `tasks` read.

    For a large corpus, the tasks read some of the record batches and take one document in `_READ_RATIO`. The bytes read do not
    grow with the corpus, and still come from many places in it.
    """

    share: float
    share_of_read: float
    tasks: list[Task]

    @classmethod
    def of(cls, source: Corpus, config: VocabConfig) -> Sample:
        """Choose the record batches to read: `_READ_RATIO` times the sample's text, or `_MIN_BATCHES` batches if that is more."""
        share = min(1.0, config.sample_bytes / max(1, source.text_bytes))
        batches = sum(shard.batches for shard in source.manifest.shards)
        read = max(_READ_RATIO * share, _MIN_BATCHES / max(1, batches))
        if read >= 1:
            return cls(share, share, source.tasks)
        return cls(share, share / read, _some(source, config.seed, read))


def _some(source: Corpus, seed: int, share: float) -> list[Task]:
    """Return tasks for a random share of a corpus' record batches, drawn by shard and number, or all tasks if none is drawn."""
    drawn: list[FileRange] = []
    for shard in source.manifest.shards:
        name, numbers = shard.name, np.arange(shard.batches)
        chosen = numbers[keys.share(keys.at(keys.key(seed, "batches", name), numbers)) < share]
        path = str(to_path(source.reader.directory) / name)
        drawn += [FileRange(name, path, batch, batch + 1) for batch in chosen.tolist()]
    groups = [drawn[start : start + MAX_BATCHES] for start in range(0, len(drawn), MAX_BATCHES)]
    return [Task(number, "documents", tuple(parts)) for number, parts in enumerate(groups)] or source.tasks


class WordsReport(TaskReport, frozen=True, kw_only=True):
    """A task's file of counted words, its sampled documents and their bytes."""

    words: RowFile
    tally: StageCounts
    sampled_bytes: Count

    @property
    def files(self) -> Sequence[File]:
        """The file of words."""
        return [self.words]


@dataclass(frozen=True, kw_only=True)
class VocabJob(Job):
    """Count the words of each task; train on the counts of all."""

    config: VocabConfig
    reader: DocumentReader
    sample: Sample  # without its tasks
    count: int  # of tasks

    @classmethod
    def of(cls, source: Corpus, config: VocabConfig, sample: Sample, roots: Sequence[Path | None], work: Path) -> VocabJob:
        """Return the job of `train_vocab`."""
        return cls(
            roots=tuple(filter(None, roots)),
            packages=config.packages,
            config=config,
            reader=source.reader,
            sample=sample._replace(tasks=[]),
            count=len(sample.tasks),
        )

    @on_worker
    def count_words(self, task: Task) -> int:
        """Count the words of a task's sampled documents."""
        self.once("count", task, self._count, WordsReport)
        return task.number

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        return [Stage("count", self.count_words, tasks)]

    def _count(self, task: Task) -> WordsReport:
        """Write the words of a task's sampled documents, as one record batch per language."""
        parts: dict[str, Counter[str]] = defaultdict(Counter)
        tally, sampled, (share, share_of_read, _) = Tally("documents"), 0, self.sample
        names = ("id", "language", "sentences")
        for ids, languages, documents in self.reader.columns(task, *names, whole=share_of_read == share):
            text: dict[str, list[str]] = defaultdict(list)
            for doc_id, language, sentences in zip(ids.to_pylist(), languages.to_pylist(), documents, strict=True):
                if train.is_sampled(self.config.seed, doc_id, share_of_read):
                    tally.left += 1
                    text[language if language in parts or len(parts) < _MAX_LANGUAGES else ""] += sentences.as_py()
            tally.entered += len(ids)
            for language, sentences in text.items():
                sampled += sum(len(sentence.encode()) for sentence in sentences)
                parts[language].update(train.count_parts(sentences, self.config.model))
        tally.dropped["not in the sample"] += tally.entered - tally.left
        name = f"{STATE}/work/words-{task.number:05d}.arrow"
        file = shards.write(self.roots[0], name, _WORDS_SCHEMA, self._batches(parts))
        return WordsReport(words=file, tally=tally.counts(), sampled_bytes=sampled)

    def _batches(self, parts: dict[str, Counter[str]]) -> Iterator[pa.RecordBatch]:
        tokenizer = train.blank(self.config)
        for language in sorted(parts):
            words = sorted(train.parts_to_words(parts.pop(language), tokenizer).items())
            columns = [[language] * len(words), [word for word, _ in words], [count for _, count in words]]
            yield pa.record_batch(columns, schema=_WORDS_SCHEMA)

    def finish(self) -> None:
        """Add up the counts, train, then write the vocabulary and, last, the manifest."""
        (root,), words, files = self.roots, Counter[str](), list[Path]()
        corpus, tally, sampled = self.reader.manifest(), Tally("documents"), 0
        for (report,) in self.reports("count", self.count, WordsReport):
            files.append(root / report.words.name)
            tally.merge(Tally.of(report.tally))
            sampled += report.sampled_bytes
        unread = corpus.rows - tally.entered
        tally.entered += unread
        tally.dropped["not in the sample"] += unread
        characters = Counter[str]()
        for source in corpus.sources.values():
            characters.update({language: amounts.characters for language, amounts in source.languages.items()})
        strip, accents = _accents(self.config, characters)
        config = replace(self.config, strip_accents=strip)
        for _, counts in _read_words(files, config):
            words.update(counts)
        vocabulary = train.train(words, config)
        names = vocab.write(root, vocabulary)
        contents = VocabManifest(
            **manifest.head("vocabulary", config, [], [tally], config.packages),
            accents=accents,
            inputs=self.reader.inputs(),
            files=[manifest.entry(root, name) for name in names],
            size=len(vocabulary.pieces),
            sample=manifest_records.Sample(
                share=self.sample.share, bytes=sampled, words=sum(words.values()), distinct_words=len(words)
            ),
            coverage=_coverage(files, config, vocabulary),
        )
        write_beside(root, contents)
        manifest.store(root, contents)


def _accents(config: VocabConfig, characters: Counter[str]) -> tuple[bool, str]:
    """Decide whether to strip accents: by the option, or else by the share of English in the corpus.

    Returns:
        True to strip accents, and a text with the decision and its reason.

    >>> _accents(VocabConfig(), Counter(en=9850, simple=50, nl=70, fr=30))
    (True, 'stripped, as 99.0 % of the text is English (nl 0.7 %, fr 0.3 %)')
    >>> _accents(VocabConfig(), Counter(zh=300))
    (False, 'kept, because they distinguish words in languages other than English')
    """
    if config.model != "wordpiece":
        return False, "kept, as always with bpe"
    if config.strip_accents is not None:
        why = "as case is" if not config.lowercase and not config.strip_accents else "by the option"
        return config.strip_accents, f"{'stripped' if config.strip_accents else 'kept'}, {why}"
    others = {language: count for language, count in characters.items() if not among(language, ("en",))}
    total = characters.total() or 1
    share = 1 - sum(others.values()) / total if characters else 0.0
    if not share:
        return False, "kept, because they distinguish words in languages other than English"
    order = sorted(others, key=lambda language: (-others[language], language))
    named = few([f"{language or 'unknown'} {100 * others[language] / total:.1f} %" for language in order], _MAX_NAMED_LANGUAGES)
    languages = f" ({named})" if named else ""
    if share >= _ENGLISH_SHARE:
        return True, f"stripped, as {100 * share:.1f} % of the text is English{languages}"
    return False, f"kept, because less than {100 * _ENGLISH_SHARE:.0f} % of the text is English{languages}"


def _read_words(files: list[Path], config: VocabConfig) -> Iterator[tuple[str, Counter[str]]]:
    """Yield words and their counts for each file and language, without accents if they are stripped."""
    bare = train.blank(config, strip_accents=True)
    for path in files:
        for batch in shards.read_batches(path):
            if batch.num_rows:
                counts = batch.column("count").to_pylist()
                words = Counter(dict(zip(batch.column("word").to_pylist(), counts, strict=True)))
                yield batch.column("language")[0].as_py(), train.parts_to_words(words, bare) if config.strip_accents else words


def _coverage(files: list[Path], config: VocabConfig, vocabulary: vocab.Vocabulary) -> dict[str, manifest_records.Coverage]:
    """Return coverage by language: all counted words encoded with the vocabulary. Counts are added up file by file."""
    encode = _word_encoder(vocabulary)
    unknown = vocabulary.special.unk
    coverages: dict[str, Coverage] = defaultdict(Coverage)
    for language, word_counts in _read_words(files, config):
        words, counts = list(word_counts), np.array([*word_counts.values()], np.int64)
        ids, ends = encode(words)
        coverages[language].add(words, counts, np.diff(ends, prepend=0), ids[ends - 1] == unknown)

    def cut(word: str) -> str:
        return " ".join(vocabulary.pieces[i] for i in encode([word])[0])

    return {language: coverages[language].result(cut) for language in sorted(coverages)}


def _word_encoder(vocabulary: vocab.Vocabulary) -> Callable[[list[str]], tuple[npt.NDArray[Any], npt.NDArray[np.int64]]]:
    """Return a function that encodes words: their ids concatenated, and the end of each word."""
    if vocabulary.splits_sentences:
        return Encoder(choose(vocabulary)).encode
    model = vocabulary.tokenizer().model  # words of byte-level BPE are already cut and in its alphabet

    def encode(words: list[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        ids = [[token.id for token in model.tokenize(word)] for word in words]
        return np.array(list(chain.from_iterable(ids)), np.int64), np.cumsum(list(map(len, ids)), dtype=np.int64)

    return encode
