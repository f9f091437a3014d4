"""Train a vocabulary on a corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..build.documents import read, refuse_to_replace
from ..build.sampling import Sample
from ..config import VocabConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest import versions
from ..errors import StorageError, TransferError
from ..io.files import to_path
from ..report.words import count, size
from .run import PlannedRun, Progress, RunOptions, Step, complete_already, given_digest, run

__all__ = ["plan_vocab", "train_vocab"]


def train_vocab(
    corpus: str | Path,
    *,
    output: str | Path,
    config: VocabConfig | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    beam_args: tuple[str, ...] = (),
) -> DataSet:
    """Train a WordPiece vocabulary on a sample of a corpus' documents, and return its data set.

    Args:
        corpus: Directory that `build_corpus` has written.
        output: Directory for vocab.txt, tokenizer.json and tokenizer_config.json.
        config: Size, case and the rest.
        workers, overwrite, progress, beam_args: As in `build_corpus`.

    Returns:
        The vocabulary; ``manifest["coverage"]`` tells, for each language, how many words are unknown or split.

    Raises:
        UsageError: `corpus` is no corpus, or is `output` as well.
        EmptyResultError: The sample holds no text.
        OutputExistsError, StorageError: As in `build_corpus`.

    Example:
        >>> from bertdata.sample import sample
        >>> from bertdata import VocabConfig, build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> train_vocab(corpus.path, output=here / "vocab", config=VocabConfig(size=500), workers=1).manifest["size"]
        500
    """
    options = RunOptions(workers=workers, overwrite=overwrite, progress=progress, beam_args=beam_args)
    return run(plan_vocab(corpus, output=output, config=config), options)[0]


def plan_vocab(corpus: str | Path, *, output: str | Path, config: VocabConfig | None = None) -> PlannedRun:
    """Return what `train_vocab` would do; nothing is written."""
    directory, corpus, settings = to_path(str(output)), to_path(str(corpus)), VocabConfig.or_default(config)
    given = given_digest("train-vocab", str(corpus), settings.identity())
    try:
        source = read(corpus)
    except (StorageError, TransferError) as error:
        return complete_already([directory], given, error)
    refuse_to_replace([corpus], [directory])
    identity = {"command": "train-vocab", "config": settings.identity(), "inputs": source.identity(), "versions": versions()}

    def chain(roots: list[Path | None]) -> Any:
        from bertdata.pipelines.train_vocab import TrainVocab

        return TrainVocab(source, settings, roots[0] or directory)

    sample, tasks = min(settings.sample_bytes, source.text_bytes), len(Sample.of(source, settings).tasks)
    return PlannedRun(
        directories=(directory,),
        identities=(identity,),
        reads=(corpus,),
        tasks=tasks,
        steps=(Step("Count words", "count", tasks),),
        given=given,
        chain=chain,
        summary=f"train-vocab: {size(sample)} of {size(source.text_bytes)} of text, in {count(tasks, 'task')} -> {directory}",
    )
