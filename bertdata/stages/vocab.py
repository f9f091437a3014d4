"""Train a vocabulary on a corpus: count the words of a sample, task by task, train on the counts, and report coverage.

Words are counted with accents. If accents are stripped, that happens when the counts are added up. The result is
the same as counting a text without accents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

from ..codec import Count
from ..config import VocabConfig
from ..dataset import manifest, manifest_records, shards
from ..dataset.build import STATE
from ..dataset.manifest_records import File, RowFile, Sample
from ..dataset.manifest_types import CorpusManifest, VocabManifest
from ..dataset.tasks import TaskReport
from ..records import Task
from ..reports.coverage import Coverage
from ..reports.page import write_beside
from ..run.job import Job, Stage, on_worker
from ..tally import StageCounts, Tally
from ..text.language import among
from ..tokens import train, vocab
from . import sampling
from .corpus_reader import Corpus, DocumentReader

__all__ = ["CountWords", "Train", "VocabJob", "WordsReport"]

_MAX_LANGUAGES = 1000  # maximum languages counted separately per task; the text of others counts as language ""
_ENGLISH_SHARE = (
    0.98  # minimum share of English characters at which accents are stripped; a few foreign documents do not change that
)
_MAX_NAMED_LANGUAGES = 5  # other languages listed in the reason
_WORDS_SCHEMA = pa.schema([("language", pa.string()), ("word", pa.string()), ("count", pa.int64())])


class WordsReport(TaskReport, frozen=True, kw_only=True):
    """A task's file of counted words, its sampled documents and their bytes."""

    words: RowFile
    tally: StageCounts
    sampled_bytes: Count

    @property
    def files(self) -> Sequence[File]:
        """The file of words."""
        return [self.words]


@dataclass(frozen=True)
class CountWords:
    """Count the words of a task's sampled documents, by language, as one record batch each.

    The sample is `share` of the documents read. `whole` is True if all of the corpus is read.
    """

    root: Path
    config: VocabConfig
    share: float
    whole: bool
    reader: DocumentReader

    def __call__(self, task: Task) -> WordsReport:
        parts: dict[str, Counter[str]] = defaultdict(Counter)
        tally = Tally("documents")
        sampled = 0
        for ids, languages, documents in self.reader.columns(task, "id", "language", "sentences", whole=self.whole):
            text: dict[str, list[str]] = defaultdict(list)
            for doc_id, language, sentences in zip(ids.to_pylist(), languages.to_pylist(), documents, strict=True):
                if vocab.is_sampled(self.config.seed, doc_id, self.share):
                    tally.left += 1
                    text[language if language in parts or len(parts) < _MAX_LANGUAGES else ""] += sentences.as_py()
            tally.entered += len(ids)
            for language, sentences in text.items():
                sampled += sum(len(sentence.encode()) for sentence in sentences)
                parts[language].update(self._count(sentences))
        tally.dropped["not in the sample"] += tally.entered - tally.left
        name = f"{STATE}/work/words-{task.number:05d}.arrow"
        file = shards.write(self.root, name, _WORDS_SCHEMA, self._batches(parts))
        return WordsReport(words=file, tally=tally.counts(), sampled_bytes=sampled)

    def _count(self, sentences: list[str]) -> Counter[str]:
        """Count the units of training: WordPiece pre-tokens, whose accents may be stripped later, or words of the other
        models."""
        return vocab.count_parts(sentences) if self.config.model == "wordpiece" else train.count_words(sentences, self._blank)

    @cached_property
    def _blank(self) -> Tokenizer:
        return train.blank(self.config)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_blank"}

    def _batches(self, parts: dict[str, Counter[str]]) -> Iterator[pa.RecordBatch]:
        tokenizer = vocab.Vocabulary(list(vocab.SPECIAL), bool(self.config.lowercase), strip_accents=False).tokenizer()
        for language in sorted(parts):
            counted = parts.pop(language)
            words = sorted((vocab.parts_to_words(counted, tokenizer) if self.config.model == "wordpiece" else counted).items())
            columns = [[language] * len(words), [word for word, _ in words], [count for _, count in words]]
            yield pa.record_batch(columns, schema=_WORDS_SCHEMA)


@dataclass(frozen=True)
class Train:
    """Add up the counts, train, then write the vocabulary and, last, the manifest."""

    root: Path
    config: VocabConfig
    share: float
    source: DocumentReader

    def __call__(self, reports: Iterable[list[WordsReport]]) -> None:
        root, words, files = self.root, Counter[str](), list[Path]()
        corpus, tally, sampled = self.source.manifest(), Tally("documents"), 0
        for (report,) in reports:
            files.append(root / report.words.name)
            tally.merge(Tally.of(report.tally))
            sampled += report.sampled_bytes
        unread = corpus.rows - tally.entered
        tally.entered += unread
        tally.dropped["not in the sample"] += unread
        strip, accents = _accents(self.config, _characters(corpus))
        config = replace(self.config, strip_accents=strip)
        for _, counts in _read_words(files, config):
            words.update(counts)
        wordpiece = config.model == "wordpiece"
        vocabulary = vocab.train(words, config) if wordpiece else train.train(words, config)
        names = vocab.write(root, vocabulary)
        contents = VocabManifest(
            **manifest.head("vocabulary", config, [], [tally], config.packages),
            accents=accents,
            inputs=self.source.inputs(),
            files=[manifest.entry(root, name) for name in names],
            size=len(vocabulary.pieces),
            sample=Sample(share=self.share, bytes=sampled, words=sum(words.values()), distinct_words=len(words)),
            coverage=_coverage(files, config, vocabulary),
        )
        write_beside(root, contents)
        manifest.store(root, contents)


@dataclass(frozen=True, kw_only=True)
class VocabJob(Job):
    """Count the words of each task; train on the counts of all."""

    config: VocabConfig
    reader: DocumentReader
    sample: sampling.Sample  # without its tasks
    count: int  # of tasks

    @classmethod
    def of(
        cls, source: Corpus, config: VocabConfig, sample: sampling.Sample, roots: Sequence[Path | None], work: Path
    ) -> VocabJob:
        """Return the job of `train_vocab`."""
        (root,) = filter(None, roots)
        return cls(
            roots=(root,),
            packages=config.packages,
            config=config,
            reader=source.reader,
            sample=sample._replace(tasks=[]),
            count=len(sample.tasks),
        )

    @on_worker
    def count_words(self, task: Task) -> int:
        """Count the words of a task's sampled documents."""
        share, share_of_read, _ = self.sample
        work = CountWords(self.roots[0], self.config, share_of_read, share_of_read == share, self.reader)
        self.once("count", task, work, WordsReport)
        return task.number

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        return [Stage("count", self.count_words, tasks)]

    def finish(self) -> None:
        """Train, and write the vocabulary."""
        train = Train(self.roots[0], self.config, self.sample.share, self.reader)
        train(self.reports("count", self.count, WordsReport))


def _characters(corpus: CorpusManifest) -> Counter[str]:
    """Return the number of characters per language, from a corpus' manifest."""
    characters = Counter[str]()
    for source in corpus.sources.values():
        characters.update({language: counts.characters for language, counts in (source.languages or {}).items()})
    return characters


def _accents(config: VocabConfig, characters: Counter[str]) -> tuple[bool, str]:
    """Decide whether to strip accents: by the option, or else by the share of English in the corpus.

    Returns:
        True to strip accents, and a text with the decision and its reason.

    >>> _accents(VocabConfig(), Counter(en=9850, simple=50, nl=70, fr=30))
    (True, 'taken off: 99.0 % of the text is English, at least 98 % (others: nl 0.7 %, fr 0.3 %)')
    >>> _accents(VocabConfig(), Counter(en=60, hi=38, vi=1, und=1))
    (False, 'kept: 60.0 % of the text is English, less than 98 % (others: hi 38.0 %, und 1.0 %, vi 1.0 %)')
    """
    if config.model != "wordpiece":
        return False, "kept: bpe and unigram keep them"
    if config.strip_accents is not None:
        why = "as case is" if not config.lowercase and not config.strip_accents else "as was asked for"
        return config.strip_accents, f"{'taken off' if config.strip_accents else 'kept'}: {why}"
    others = {language: count for language, count in characters.items() if not among(language, ("en",))}
    total = characters.total() or 1
    share = 1 - sum(others.values()) / total if characters else 0.0
    if not share:
        return False, "kept: in languages other than English they tell words apart"
    strip = share >= _ENGLISH_SHARE
    order = sorted(others, key=lambda language: (-others[language], language))
    named = ", ".join(
        f"{language or 'unknown'} {100 * others[language] / total:.1f} %" for language in order[:_MAX_NAMED_LANGUAGES]
    )
    named += f", and {len(order) - _MAX_NAMED_LANGUAGES} more languages" if len(order) > _MAX_NAMED_LANGUAGES else ""
    bound = f"{'at least' if strip else 'less than'} {100 * _ENGLISH_SHARE:.0f} %"
    why = f"{100 * share:.1f} % of the text is English, {bound}" + (f" (others: {named})" if named else "")
    return strip, f"{'taken off' if strip else 'kept'}: {why}"


def _read_words(files: list[Path], config: VocabConfig) -> Iterator[tuple[str, Counter[str]]]:
    """Yield words and their counts for each file and language, without accents if they are stripped."""
    bare = vocab.Vocabulary(list(vocab.SPECIAL), bool(config.lowercase), strip_accents=True).tokenizer()
    for path in files:
        for batch in shards.read_batches(path):
            if batch.num_rows:
                counts = batch.column("count").to_pylist()
                words = Counter(dict(zip(batch.column("word").to_pylist(), counts, strict=True)))
                yield batch.column("language")[0].as_py(), vocab.parts_to_words(words, bare) if config.strip_accents else words


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
    if not vocabulary.form:
        return vocabulary.document_encoder().encode
    model = vocabulary.tokenizer().model

    def encode(words: list[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        ids = [[token.id for token in model.tokenize(word)] for word in words]
        return np.array(list(chain.from_iterable(ids)), np.int64), np.cumsum(list(map(len, ids)), dtype=np.int64)

    return encode
