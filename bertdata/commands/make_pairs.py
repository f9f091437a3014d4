"""Make rows to train on from a corpus and a vocabulary: sentence pairs, or rows for another objective."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..build.documents import Corpus, read, refuse_to_replace
from ..config import PairsConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest import versions
from ..errors import StorageError, TransferError, UsageError
from ..io.files import to_path
from ..report.vocabulary import unsaid
from ..report.words import count, size
from ..tokens import segment
from .run import PlannedRun, Progress, RunOptions, Step, complete_already, given_digest, run

if TYPE_CHECKING:
    from ..tokens.vocab import Vocabulary

__all__ = ["lost_text", "make_pairs", "plan_pairs"]

_LOST = 0.1  # share of the tokens; at 128 tokens pairs lose a few in a hundred, at 16 half


def make_pairs(
    corpus: str | Path,
    *,
    vocab: str | Path,
    output: str | Path,
    config: PairsConfig | None = None,
    lengths: Sequence[int] = (),
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    shuffle: str = "files",
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    beam_args: tuple[str, ...] = (),
) -> list[DataSet]:
    """Build rows from a corpus' documents, and return a data set for each length.

    Args:
        corpus: Directory that `build_corpus` has written.
        vocab: Directory that `train_vocab` has written, or a vocab.txt.
        output: Directory for the rows; ``{length}`` in it stands for the length.
        config: Objective, length, masks and the rest.
        lengths: Several lengths in place of `config.max_seq_length`; the corpus is tokenized once for all of them.
        lowercase: For a bare vocab.txt: whether it was made for lower case; None to tell from its words.
        strip_accents: For a bare vocab.txt: whether accents are taken off letters; None for what BERT does.
        shuffle: ``files`` or ``engine``: how documents move to their shard; the bytes are the same.
        workers, overwrite, progress, beam_args: As in `build_corpus`.

    Returns:
        The data sets, in order of `lengths`; with a warning for one whose rows leave out a tenth of the text's tokens or more.

    Raises:
        UsageError: `corpus` or `vocab` is none, or is `output` as well.
        EmptyResultError: No document gives a row.
        OutputExistsError, StorageError: As in `build_corpus`.

    Example:
        >>> from bertdata.sample import sample
        >>> from bertdata import VocabConfig, build_corpus, train_vocab
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> vocab = train_vocab(corpus.path, output=here / "vocab", config=VocabConfig(size=500), workers=1)
        >>> (pairs,) = make_pairs(corpus.path, vocab=vocab.path, output=here / "pairs", workers=1)
        >>> pairs.kind, round(pairs.manifest["statistics"]["not_next_share"], 1)
        ('pairs', 0.5)
    """
    planned = plan_pairs(
        corpus,
        vocab=vocab,
        output=output,
        config=config,
        lengths=lengths,
        lowercase=lowercase,
        strip_accents=strip_accents,
        shuffle=shuffle,
    )
    made = run(planned, RunOptions(workers=workers, overwrite=overwrite, progress=progress, beam_args=beam_args))
    for lost in filter(None, map(lost_text, made)):
        warnings.warn(lost, stacklevel=2)
    return made


def lost_text(pairs: DataSet) -> str:
    """Say that over a tenth of the text's tokens are in no row, and why; nothing where it is less."""
    stages = [stage for stage in pairs.counts if stage["stage"].split()[-1] == "tokens"]
    reasons: Counter[str] = sum((Counter(stage["dropped"]) for stage in stages), Counter())
    share = reasons.total() / max(1, sum(stage["in"] for stage in stages))
    if share <= _LOST:
        return ""
    told = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
    return (
        f"{pairs.path}: {share:.0%} of the text's tokens are in no row (dropped: {told}): give a larger "
        "`max_seq_length` or another `objective`"
    )


def plan_pairs(
    corpus: str | Path,
    *,
    vocab: str | Path,
    output: str | Path,
    config: PairsConfig | None = None,
    lengths: Sequence[int] = (),
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    shuffle: str = "files",
) -> PlannedRun:
    """Return what `make_pairs` would do; nothing is written."""
    from ..build.rows.buckets import shard_count
    from ..tokens import vocab as vocabularies

    corpus, vocab, settings = to_path(str(corpus)), to_path(str(vocab)), PairsConfig.or_default(config)
    widths = list(dict.fromkeys(lengths or [settings.max_seq_length]))
    directories = _directories(str(output), widths)
    given = given_digest("make-pairs", str(corpus), str(vocab), settings.identity(), widths, lowercase, strip_accents, shuffle)
    try:
        source = read(corpus)
        vocabulary = vocabularies.read(vocab, lowercase=lowercase, strip_accents=strip_accents)
    except (StorageError, TransferError) as error:
        return complete_already(directories, given, error)
    refuse_to_replace([corpus, vocab], directories)
    if settings.packages:
        segment.require()
    buckets = shard_count(settings, source.text_bytes, source.manifest["rows"])
    configs = [dataclasses.replace(settings, max_seq_length=width, shards=buckets) for width in widths]
    silent = strip_accents is None and not vocabularies.says_accents(vocab)
    common = {"command": "make-pairs", "inputs": source.identity(), "vocabulary": _about(vocabulary)}
    common["versions"] = versions(settings.packages)

    tokenize = (Step("Tokenize", "tokenize", len(source.tasks)),) if shuffle == "files" else ()
    read_in = f"{count(source.manifest['rows'], 'document')}, {size(source.text_bytes)} of text"
    cut = f"{count(len(source.tasks), 'task')} and {count(buckets, 'shard')}"
    return PlannedRun(
        directories=tuple(directories),
        identities=tuple({**common, "config": config.identity()} for config in configs),
        reads=(corpus,),
        tasks=max(len(source.tasks), buckets),
        steps=(*tokenize, Step("Build pairs", "pairs", buckets)),
        chain=partial(_chain, source, vocabulary, configs, buckets, shuffle),
        given=given,
        notes=(f"  vocabulary {vocab}: {unsaid(*vocabulary)}",) if silent else (),
        summary=f"make-pairs: {read_in}, in {cut} -> {', '.join(map(str, directories))}",
    )


def _chain(
    source: Corpus, vocabulary: Vocabulary, configs: list[PairsConfig], buckets: int, shuffle: str, roots: list[Path | None]
) -> Any:
    from bertdata.pipelines.make_pairs import MakePairs

    from ..build.rows.bucket import Output

    outputs = [Output(str(root), config) for root, config in zip(roots, configs, strict=True) if root is not None]
    return MakePairs(source, vocabulary, outputs, buckets, shuffle)


def _about(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what the rows depend on of a vocabulary."""
    pieces = hashlib.sha256("\n".join(vocabulary.pieces).encode()).hexdigest()
    return {"sha256": pieces, "lowercase": vocabulary.lowercase, "strip_accents": vocabulary.strip_accents}


def _directories(output: str, lengths: list[int]) -> list[Path]:
    """Name a directory for each length.

    >>> [path.name for path in _directories("pairs", [128, 512])]
    ['pairs-128', 'pairs-512']
    """
    if "{length}" in output:
        return [to_path(output.replace("{length}", str(length))) for length in lengths]
    if not output.strip("/"):
        raise UsageError("`output`: give a directory")
    return [to_path(output)] if len(lengths) == 1 else [to_path(f"{output.rstrip('/')}-{length}") for length in lengths]
