"""Train a vocabulary on a corpus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..config import VocabConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest_types import VocabManifest
from ..dataset.versions import versions
from ..reports.summary import count, size
from ..reports.vocabulary_warnings import fewer, unknown
from ..run.estimate import of_vocabulary
from ..run.plan import Plan, run
from ..run.progress import Progress, Reporter
from ..stages.corpus_reader import read, refuse_to_replace
from ..stages.vocab import Sample, VocabJob
from ..storage.files import to_path
from ..storage.problems import storage_errors


@storage_errors()
def train_vocab(
    corpus: str | Path,
    *,
    output: str | Path,
    config: VocabConfig | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], object] | Reporter | None = None,
    beam_args: tuple[str, ...] = (),
    **options: Any,
) -> DataSet[VocabManifest]:
    """Train a vocabulary on a sample of a corpus, and return its dataset.

    `workers`, `overwrite`, `progress` and `beam_args` work as in `build_corpus`.

    Args:
        corpus: Output of `build_corpus`.
        output: Directory for tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt.
        config: Model, size, normalization and other settings. Keyword options replace its fields.
        options: Fields of `VocabConfig`, such as ``size=8000``.

    Returns:
        The vocabulary. ``manifest.coverage`` counts unknown and split words per language.

    Warns:
        UserWarning: The vocabulary is smaller than requested, or many words of a language are [UNK].

    Raises:
        UsageError: `corpus` is not a corpus, or equal to `output`.
        EmptyResultError: The sample holds no text.
        OutputExistsError, StorageError: As in `build_corpus`.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> train_vocab(corpus.path, output=here / "vocab", model="bpe", size=1000, workers=1).manifest.size
        1000
    """
    directory, corpus, settings = to_path(str(output)), to_path(str(corpus)), VocabConfig.with_options(config, options)
    source = read(corpus)
    refuse_to_replace([corpus], [directory])
    identity = {"command": "train-vocab", "config": settings.identity(), "inputs": source.identity()}
    identity["versions"] = versions(settings.packages)
    sample = Sample.of(source, settings)
    read_bytes = round(source.text_bytes * sample.share / sample.share_of_read)
    sampled, tasks = size(min(settings.sample_bytes, source.text_bytes)), count(len(sample.tasks), "task")
    plan = Plan(
        outputs={directory: identity},
        tasks=sample.tasks,
        bytes=read_bytes,
        estimate=of_vocabulary(read_bytes, settings.size),
        job=partial(VocabJob.of, source, settings, sample),
        warnings=warnings_of,
        summary=f"train-vocab: {sampled} of {size(source.text_bytes)} of text, in {tasks} -> {directory}",
    )
    return run(plan, workers=workers, overwrite=overwrite, beam_args=beam_args, progress=progress)[0]


def warnings_of(vocab: DataSet[VocabManifest]) -> list[str]:
    """Return warnings about a finished vocabulary: fewer tokens than requested, and a large share of [UNK]."""
    config = vocab.manifest.settings
    return [*filter(None, (fewer(vocab.manifest.size, config), unknown(vocab.manifest.coverage, config)))]
