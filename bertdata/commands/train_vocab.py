"""Train a vocabulary on a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..chains.transforms import Chain
from ..config import VocabConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest_types import VocabManifest
from ..dataset.versions import versions
from ..reports.summary import count, size
from ..stages.corpus_reader import Corpus, read, refuse_to_replace
from ..stages.sampling import Sample
from ..stages.vocab import STAGE
from ..storage.files import to_path
from ..storage.storage import storage_errors
from .execute import run
from .plan import Output, Plan, RunOptions
from .progress import Progress, ProgressStep, PythonReporter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..config.keywords import VocabOptions
    from .estimate import Measured

__all__ = ["plan_vocab", "train_vocab"]


@storage_errors()
def train_vocab(
    corpus: str | Path,
    *,
    output: str | Path,
    config: VocabConfig | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    check_space: bool = True,
    progress: Callable[[Progress], None] | None = None,
    beam_args: tuple[str, ...] = (),
    **options: Unpack[VocabOptions],
) -> DataSet[VocabManifest]:
    """Train a vocabulary on a sample of a corpus, and return its dataset.

    `workers`, `overwrite`, `check_space`, `progress` and `beam_args` work as in `build_corpus`.

    Args:
        corpus: Output of `build_corpus`.
        output: Directory for tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt.
        config: Model, size, normalization and other settings, if you do not pass them as keywords.
        options: Fields of `VocabConfig`, such as ``size=8000``.

    Returns:
        The vocabulary. ``manifest.coverage`` counts unknown and split words per language.

    Raises:
        UsageError: `corpus` is not a corpus, or equal to `output`.
        EmptyResultError: The sample holds no text.
        OutputExistsError, StorageError: As in `build_corpus`.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> train_vocab(corpus.path, output=here / "vocab", size=500, workers=1).manifest.size
        500
    """
    plan = plan_vocab(corpus, output=output, config=VocabConfig.with_options(config, options))
    how = RunOptions(workers=workers, overwrite=overwrite, check_space=check_space, beam_args=beam_args)
    return run(plan, how, PythonReporter(progress))[0]


@dataclass(frozen=True, kw_only=True)
class VocabPlan(Plan):
    """What `train_vocab` will do."""

    source: Corpus
    config: VocabConfig
    sample: Sample

    def chain(self, roots: Sequence[Path | None]) -> Chain:
        """Return the steps."""
        from ..chains.train_vocab import TrainVocab

        return TrainVocab(self.source, self.config, roots[0] or self.directories[0])

    def measure(self, root: Path) -> Measured:
        """Count the words of samples, and train on them."""
        from .shards_sample import measure_vocab

        return measure_vocab(root, self.source, self.config, self.sample, self.bytes)


def plan_vocab(corpus: str | Path, *, output: str | Path, config: VocabConfig | None = None) -> Plan:
    """Return what `train_vocab` would do; nothing is written."""
    directory, corpus, settings = to_path(str(output)), to_path(str(corpus)), VocabConfig.or_default(config)
    source = read(corpus)
    refuse_to_replace([corpus], [directory])
    identity = {
        "command": "train-vocab",
        "config": settings.identity(),
        "inputs": source.identity(),
        "versions": versions(settings.packages),
    }

    sample = Sample.of(source, settings)
    read_bytes = round(source.text_bytes * sample.share / sample.share_of_read)
    sampled, tasks = size(min(settings.sample_bytes, source.text_bytes)), count(len(sample.tasks), "task")
    return VocabPlan(
        outputs=(Output(directory, identity),),
        reads=(corpus,),
        steps=(ProgressStep("Count words", "count", len(sample.tasks), read_bytes), ProgressStep(STAGE.capitalize(), STAGE, 1)),
        summary=f"train-vocab: {sampled} of {size(source.text_bytes)} of text, in {tasks} -> {directory}",
        source=source,
        config=settings,
        sample=sample,
    )
