"""`bertdata train-vocab`: a WordPiece vocabulary from a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import VocabConfig
from ..files import is_local, place
from ..manifest import read, versions
from ..report.words import count, size
from .bars import Step
from .run import build, common_options, conclude, echo, take_options

__all__ = ["command"]

_DEFAULTS = VocabConfig()


@click.command("train-vocab")
@click.argument("corpus", type=place)
@click.option("--output", required=True, type=place, metavar="PATH", help="Directory for the vocabulary.")
@click.option(
    "--size", "size_", type=int, default=_DEFAULTS.size, show_default=True, help="Number of pieces, special ones included."
)
@click.option("--lowercase/--cased", default=True, show_default=True, help="Make everything lower case, as bert-base-uncased.")
@click.option("--strip-accents/--keep-accents", default=None, help="Take accents off letters.  [default: with --lowercase]")
@click.option(
    "--layout",
    type=click.Choice(["compact", "bert"]),
    default=_DEFAULTS.layout,
    show_default=True,
    help="Special pieces at ids 0-4, or at BERT's ids 0 and 100-103 with [unused0-993] around them.",
)
@click.option("--min-frequency", type=int, default=_DEFAULTS.min_frequency, show_default=True, help="Occurrences a piece needs.")
@click.option(
    "--alphabet", type=int, default=_DEFAULTS.alphabet, show_default=True, help="Single characters kept, the frequent first."
)
@click.option(
    "--sample-bytes", type=int, default=_DEFAULTS.sample_bytes, show_default=True, help="Text that is looked at, by chance."
)
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="Seed of the sample.")
@common_options
def command(corpus: Path, output: Path, size_: int, strip_accents: bool | None, **values: Any) -> None:
    """Train a WordPiece vocabulary on the documents in CORPUS.

    Writes vocab.txt, tokenizer.json and tokenizer_config.json, which `transformers` and `tokenizers` load.  Ends by showing, for
    each language of the sample, the share of words that are [UNK] or split, pieces per word, and the longest word that is split;
    manifest.json keeps these under "coverage".

    \b
        bertdata train-vocab corpus --size 30522 --output vocab
    """
    options = take_options(values)
    strip = values["lowercase"] if strip_accents is None else strip_accents
    config = VocabConfig(size=size_, strip_accents=strip, **values)
    from bertdata.pipelines import corpus as corpora

    from ..report.coverage import table

    source = corpora.read(corpus)
    corpora.keep([corpus], [output])
    sample = min(config.sample_bytes, source.text_bytes)
    tasks = count(len(source.tasks), "task")
    echo(f"train-vocab: {size(sample)} of {size(source.text_bytes)} of text, in {tasks} -> {output}", err=True)
    if options.dry_run:
        return
    identity = {"command": "train-vocab", "config": config.identity(), "inputs": source.identity(), "versions": versions()}

    def chain(roots: list[Path | None]) -> Any:
        from bertdata.pipelines.train_vocab import TrainVocab

        return TrainVocab(source, config, roots[0] or output)

    done = build(
        [output],
        [identity],
        options,
        reads=[corpus],
        tasks=len(source.tasks),
        steps=[Step("Count words", "count", len(source.tasks))],
        chain=chain,
    )
    if done:
        echo(table(read(output)["coverage"]))
    conclude(output, done, f'transformers.BertTokenizerFast.from_pretrained("{output}")' if is_local(output) else "")
