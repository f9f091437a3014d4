"""`bertdata make-pairs`: sentence pairs from a corpus and a vocabulary."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import segment
from ..config import FORMATS, MASKINGS, OBJECTIVES, SEGMENTERS, PairsConfig
from ..errors import UsageError
from ..files import place
from ..manifest import versions
from ..report.card import reading_line
from ..report.words import count, size
from .bars import Step
from .run import build, common_options, conclude, echo, take_options

if TYPE_CHECKING:
    from ..vocab import Vocabulary

__all__ = ["command"]

_DEFAULTS = PairsConfig()


@click.command("make-pairs")
@click.argument("corpus", type=place)
@click.option("--vocab", required=True, type=place, metavar="PATH", help="Directory of train-vocab, or a vocab.txt.")
@click.option("--output", required=True, help="Directory for the pairs; {length} in it stands for the length.")
@click.option(
    "--max-seq-length",
    "lengths",
    type=int,
    multiple=True,
    default=(_DEFAULTS.max_seq_length,),
    show_default=True,
    help="Tokens in a pair, [CLS] and [SEP] included; several lengths make a directory each.",
)
@click.option(
    "--objective",
    type=click.Choice(list(OBJECTIVES)),
    default=_DEFAULTS.objective,
    show_default=True,
    help="nsp: is B what follows A (BERT)?  sop: are A and B in order (ALBERT)?  full-sentences: rows filled with sentences "
    "(RoBERTa).  causal: running text cut to length (GPT).",
)
@click.option(
    "--short-seq-prob",
    type=float,
    help=f"Share of pairs made shorter, by chance; {_DEFAULTS.short_seq_prob} if not given.",
)
@click.option(
    "--dupe-factor",
    type=int,
    default=_DEFAULTS.dupe_factor,
    show_default=True,
    help="Use the text this many times, each time cut and paired anew.",
)
@click.option(
    "--validation-fraction",
    type=float,
    default=_DEFAULTS.validation_fraction,
    show_default=True,
    help="Share of the documents that make a validation split, the same ones for any seed.",
)
@click.option(
    "--lowercase/--cased", default=None, help="For a bare vocab.txt: what it was made for.  [default: as its words look]"
)
@click.option("--shards", type=int, default=0, help="Number of shards.  [default: one for 12 MB of all copies' text]")
@click.option(
    "--masking",
    type=click.Choice(MASKINGS),
    default=_DEFAULTS.masking,
    show_default=True,
    help="none: rows are masked when they are read, anew each epoch.  static: rows are masked now, those of each copy of "
    "--dupe-factor by themselves.",
)
@click.option("--masked-lm-prob", type=float, help="Static masks: share of a row's tokens that are masked; 0.15 if not given.")
@click.option(
    "--max-predictions",
    type=int,
    default=_DEFAULTS.max_predictions,
    help="Static masks: most tokens that are masked in a row; if not given, as many as give each row its share.",
)
@click.option(
    "--whole-word",
    is_flag=True,
    help="Static masks: mask whole words.  Pieces that go on with a word begin with ##; for Chinese see --chinese-words; in "
    "Japanese and other text without spaces ## tells no more than this.",
)
@click.option("--span", is_flag=True, help="Static masks: mask spans of words, 3.8 long on average (SpanBERT).")
@click.option(
    "--per-piece",
    is_flag=True,
    help="With --whole-word or --span: each piece by itself becomes [MASK], a random word or stays, not all of them alike.",
)
@click.option(
    "--chinese-words",
    type=click.Choice(SEGMENTERS),
    default=_DEFAULTS.chinese_words,
    show_default=True,
    help="Tell the words of Chinese documents, so that masks take them whole: adds the column continues_word.  jieba needs "
    "pip install 'bertdata[chinese]'.",
)
@click.option("--provenance", is_flag=True, help="Add the ids of the documents that A and B came from.")
@click.option(
    "--shuffle",
    type=click.Choice(["files", "engine"]),
    default="files",
    show_default=True,
    help="Move documents to their shard by files, or by the engine's GroupByKey.",
)
@click.option("--format", type=click.Choice(FORMATS), default=_DEFAULTS.format, show_default=True, help="Format of the shards.")
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="Seed of every choice.")
@common_options
def command(
    corpus: Path, vocab: Path, output: str, lengths: tuple[int, ...], lowercase: bool | None, shuffle: str, **values: Any
) -> None:
    """Build sentence pairs for BERT, or rows for another objective, from the documents in CORPUS.

    Exactly half of the pairs are NotNext (or swapped), and nothing but their text tells which.  Rows are not masked, unless
    with --masking static: a mask is made anew each epoch when they are read.

    \b
        bertdata make-pairs corpus --vocab vocab --max-seq-length 128 --max-seq-length 512 --output 'pairs-{length}'
    """
    options = take_options(values)
    from bertdata.pipelines import corpus as corpora
    from bertdata.pipelines.pairing.buckets import shard_count

    from .. import vocab as vocabularies

    source = corpora.read(corpus)
    configs = [PairsConfig(max_seq_length=length, **values) for length in dict.fromkeys(lengths)]
    buckets = shard_count(configs[0], source.text_bytes, source.manifest["rows"])
    configs = [dataclasses.replace(config, shards=buckets) for config in configs]
    if used := configs[0].packages:
        segment.require()
    directories = _directories(output, [config.max_seq_length for config in configs])
    corpora.keep([corpus, vocab], directories)
    vocabulary = vocabularies.read(vocab, lowercase)
    given = f"{count(source.manifest['rows'], 'document')}, {size(source.text_bytes)} of text"
    cut = f"{count(len(source.tasks), 'task')} and {count(buckets, 'shard')}"
    echo(f"make-pairs: {given}, in {cut} -> {', '.join(map(str, directories))}", err=True)
    if options.dry_run:
        return
    common = {"command": "make-pairs", "inputs": source.identity(), "vocabulary": _about(vocabulary), "versions": versions(used)}
    identities = [{**common, "config": config.identity()} for config in configs]

    def chain(roots: list[Path | None]) -> Any:
        from bertdata.pipelines.make_pairs import MakePairs, Output

        outputs = [Output(str(root), config) for root, config in zip(roots, configs, strict=True) if root is not None]
        return MakePairs(source, vocabulary, outputs, buckets, shuffle)

    tokenize = [Step("Tokenize", "tokenize", len(source.tasks))] if shuffle == "files" else []
    steps = [*tokenize, Step("Build pairs", "pairs", buckets)]
    most = max(len(source.tasks), buckets)
    done = build(directories, identities, options, reads=[corpus], tasks=most, steps=steps, chain=chain)
    for directory in directories:
        conclude(directory, done, reading_line(str(directory), configs[0].format))


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
        return [place(output.replace("{length}", str(length))) for length in lengths]
    if not output.strip("/"):
        raise UsageError("--output: give a directory")
    return [place(output)] if len(lengths) == 1 else [place(f"{output.rstrip('/')}-{length}") for length in lengths]
