"""Build training rows from a corpus and a vocabulary: sentence pairs, or rows for another objective."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import PairsConfig
from ..dataset.data_set import DataSet
from ..dataset.manifest_types import PairsManifest
from ..dataset.versions import versions
from ..errors import UsageError
from ..pieces import BEGINS, BERT_TOKENS
from ..reports.summary import count, size
from ..reports.vocabulary_warnings import chinese_without_words, poor_fit, text_by_language
from ..run.estimate import of_rows
from ..run.plan import Plan, run
from ..run.progress import Progress, Reporter
from ..stages.corpus_reader import read, refuse_to_replace
from ..stages.rows.job import PairsJob
from ..storage.files import to_path
from ..storage.problems import storage_errors
from ..tokens import segment

if TYPE_CHECKING:
    from ..tokens.vocab import Vocabulary

_MAX_LOST_TOKEN_SHARE = 0.1  # share of dropped tokens above which to warn: pairs of 128 tokens drop a few %, of 16 tokens half


@storage_errors()
def make_pairs(
    corpus: str | Path,
    *,
    vocab: str | Path,
    output: str | Path,
    config: PairsConfig | None = None,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], object] | Reporter | None = None,
    beam_args: tuple[str, ...] = (),
    **options: Any,
) -> list[DataSet[PairsManifest]]:
    """Build training rows from a corpus, and return one dataset per row length.

    `workers`, `overwrite`, `progress` and `beam_args` work as in `build_corpus`.

    Args:
        corpus: Output of `build_corpus`.
        vocab: Output of `train_vocab`, a vocab.txt, any tokenizer.json, a directory for `transformers.AutoTokenizer`, or the
            name of a model of the Hugging Face Hub.
        output: Directory for the rows. ``{length}`` is replaced by the row length.
        config: Objective, length, masks and other settings. Keyword options replace its fields.
        lowercase: Whether to lowercase text, if `vocab` is a bare vocab.txt. None detects it from the tokens.
        strip_accents: Whether to strip accents, if `vocab` is a bare vocab.txt. None follows `lowercase`, as in BERT.
        options: Fields of `PairsConfig`, such as ``max_seq_length=512``. With several lengths, such as ``(128, 512)``, the
            corpus is tokenized once for all of them.

    Returns:
        The datasets, in the order of the lengths.

    Warns:
        UserWarning: The rows drop more than a tenth of the tokens, or the vocabulary does not fit the text.

    Raises:
        UsageError: `corpus` or `vocab` is invalid, or equal to `output`.
        EmptyResultError: No document is long enough for a row, or no four chunks can exchange text in NotNext pairs.
        OutputExistsError, StorageError: As in `build_corpus`.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus, train_vocab
        >>> corpus = build_corpus(wikipedia=sample(), books=sample() / "books", output=here / "corpus", workers=1)
        >>> vocab = train_vocab(corpus.path, output=here / "vocab", size=4000, workers=1)
        >>> (pairs,) = make_pairs(corpus.path, vocab=vocab.path, output=here / "pairs", max_seq_length=64, workers=1)
        >>> pairs.kind, round(pairs.manifest.statistics.not_next_share, 1)
        ('pairs', 0.5)
    """
    from ..stages.rows.partitions import shard_count
    from ..stages.rows.partners import fill
    from ..tokens.encode import choose
    from ..tokens.read import read_any

    lengths: int | Sequence[int] = options.get("max_seq_length", ())
    lengths = (lengths,) if isinstance(lengths, int) else tuple(lengths)
    settings = PairsConfig.with_options(config, options | ({"max_seq_length": lengths[0]} if lengths else {}))
    widths = list(dict.fromkeys(lengths or [settings.max_seq_length]))  # each is checked below
    corpus, vocab = to_path(str(corpus)), to_path(str(vocab))
    directories = _directories(str(output), widths)
    source, vocabulary = read(corpus), read_any(vocab, lowercase, strip_accents, settings.special_tokens)
    refuse_to_replace([corpus, vocab], directories)
    tasks = (source.reader.columns(task, "sentences", "paragraph_starts", whole=False) for task in source.tasks)
    vocabulary = choose(vocabulary, ((columns[0], columns[1]) for columns in chain.from_iterable(tasks)))
    partitions = shard_count(settings, source.text_bytes, source.manifest.rows, fill(source.manifest, settings))
    settings = dataclasses.replace(settings, shards=partitions)
    common = {"command": "make-pairs", "inputs": source.identity(), "vocabulary": vocabulary.about()}
    common["versions"] = versions(settings.packages)
    identities = [{**common, "config": dataclasses.replace(settings, max_seq_length=width).identity()} for width in widths]
    documents, cut, shards = count(source.manifest.rows, "document"), count(len(source.tasks), "task"), count(partitions, "shard")
    plan = Plan(
        outputs=dict(zip(directories, identities, strict=True)),
        tasks=source.tasks,
        bytes=source.text_bytes,
        estimate=of_rows(source.text_bytes, len(widths) * settings.dupe_factor, settings.masking == "static"),
        job=partial(PairsJob.of, source, vocabulary, settings, widths),
        notes=_notes(vocab, vocabulary, settings),
        summary=f"make-pairs: {documents}, {size(source.text_bytes)}, {cut} -> {shards} in {', '.join(map(str, directories))}",
        warnings=warnings_of,
    )
    return run(plan, workers=workers, overwrite=overwrite, beam_args=beam_args, progress=progress)


def warnings_of(pairs: DataSet[PairsManifest]) -> list[str]:
    """Return warnings about finished rows: dropped tokens, and Chinese without words."""
    words = chinese_without_words(pairs.manifest) if pairs.manifest.settings.unit != "piece" else ""
    return [warning for warning in (lost_text(pairs), lone_documents(pairs), words, poor_fit(pairs.manifest)) if warning]


def lost_text(pairs: DataSet[PairsManifest]) -> str:
    """Return a warning with reasons if more than a tenth of the text's tokens are not in any row, else an empty string."""
    stages = pairs.manifest.counts_of("tokens")
    reasons: Counter[str] = sum((Counter(stage.dropped) for stage in stages), Counter())
    share = reasons.total() / max(1, sum(stage.entered for stage in stages))
    if share <= _MAX_LOST_TOKEN_SHARE:
        return ""
    dropped = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
    remedy = "Use a larger `max_seq_length` or another `objective`"
    if reasons["no-partner"] > reasons.total() / 2:
        remedy = "Add documents of the same language and script, or use another `objective`"
    return f"{pairs.path}: {share:.0%} of the text tokens are not in any row (dropped: {dropped}). {remedy}"


def lone_documents(pairs: DataSet[PairsManifest]) -> str:
    """Return a warning that names the languages with one document, which has no partner, else an empty string."""
    contents, config = pairs.manifest, pairs.manifest.settings
    if config.objective != "nsp" or config.pair_across_languages:
        return ""
    text = text_by_language(contents.corpus.sources)
    tokens = sum(map(Counter, contents.tokens.values()), Counter[str]())
    lone = [f"{code or 'unknown'} ({tokens[code]:,} tokens)" for code in sorted(text) if text[code]["documents"] == 1]
    if not lone:
        return ""
    return (
        f"{pairs.path}: 1 document each of {', '.join(lone)} is not in any row, because a pair needs two documents of one "
        "language. Add documents, or use `pair_across_languages` or another `objective`"
    )


def _notes(path: Path, vocabulary: Vocabulary, config: PairsConfig) -> tuple[str, ...]:
    """Describe the assumptions about a vocabulary. Raise UsageError if it lacks something that the rows need."""
    from ..tokens.read import missing

    if problem := missing(vocabulary, config.objective):
        raise UsageError(f"the vocabulary {path} {problem}")
    if config.chinese_words != "none":
        segment.packages()
        if not vocabulary.normalizer.get("handle_chinese_chars"):
            raise UsageError(
                f"`chinese_words` is for vocabularies that split Chinese into characters, as BERT does. {path} does not: omit it",
                field="chinese_words",
            )
    mark = vocabulary.special.mark
    if config.unit != "piece" and not mark and config.masking == "static":
        raise UsageError(f"`whole_word`: the tokens of {path} have no mark for words. Omit this option", field="whole_word")
    notes = [*vocabulary.notes]
    if vocabulary.special_tokens() != BERT_TOKENS or mark != "##":
        tokens = ", ".join(f"{role} {token}" for role, token in vocabulary.special_tokens().items())
        words = f"{mark!r} marks where words {'begin' if mark in BEGINS else 'go on'}" if mark else "each token is a word"
        notes.insert(0, f"{len(vocabulary.pieces):,} ids; {tokens}; {words}")
    return tuple(f"  vocabulary {path}: {note}" for note in notes)


def _directories(output: str, lengths: list[int]) -> list[Path]:
    """Return the directory for each length.

    >>> [path.name for path in _directories("pairs", [128, 512])]
    ['pairs-128', 'pairs-512']
    """
    if "{length}" in output:
        return [to_path(output.replace("{length}", str(length))) for length in lengths]
    if not output.strip("/"):
        raise UsageError("`output`: pass a directory", field="output")
    return [to_path(output)] if len(lengths) == 1 else [to_path(f"{output.rstrip('/')}-{length}") for length in lengths]
