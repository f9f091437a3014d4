"""`bertdata make-pairs`: build training rows from a corpus and a vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import PairsConfig
from ..reports.card import reading_line
from ..reports.vocabulary_warnings import poor_fit
from .build_commands import build, common_options, echo, print_result, take_options
from .options import Command, config_options, sections_of, take, with_option_names
from .paths import to_path

__all__ = ["command"]

_SECTIONS = sections_of(PairsConfig)
_SECTIONS["Rows"] = ["vocab", *_SECTIONS["Rows"]]
_SECTIONS["Output"] = ["output", *_SECTIONS["Output"]]
_FIRST = (
    *("vocab", "output", "objective", "max_seq_length", "dupe_factor", "pack", "masking", "validation_fraction", "seed"),
    *("dry_run", "overwrite", "workers", "config"),
)


@click.command("make-pairs", cls=Command, arrow=True, sections=_SECTIONS, first=_FIRST)
@click.argument("corpus", type=to_path)
@click.option(
    "--vocab",
    required=True,
    type=to_path,
    metavar="PATH",
    help="Vocabulary: output of train-vocab, vocab.txt, tokenizer.json, the directory of a model of `transformers`, or the name "
    "of a model of the Hugging Face Hub.",
)
@click.option(
    "--lowercase/--cased",
    default=None,
    help="Whether to lowercase text, for a bare vocab.txt.  [default: detected from its tokens]",
)
@click.option(
    "--strip-accents/--no-strip-accents",
    default=None,
    help="Whether to strip accents and other marks from letters, for a bare vocab.txt.  [default: on if lowercase, as in BERT]",
)
@click.option("--output", required=True, help="Directory for the rows. {length} is replaced by the row length.")
@config_options(PairsConfig, multiple=("max_seq_length",))
@common_options
def command(corpus: Path, vocab: Path, output: str, max_seq_length: tuple[int, ...], **values: Any) -> None:
    """Build sentence pairs for BERT, or rows for another objective, from the documents in CORPUS.

    Half of the pairs are NotNext (for sop: swapped). Length, position, language and script do not reveal which. By default,
    rows are stored without masks, and each epoch masks them differently during loading. Use --masking static to store masks.

    \b
        bertdata make-pairs corpus --vocab vocab --max-seq-length 128 --max-seq-length 512 --output 'pairs-{length}'
    """
    options, dry_run = take_options(values)
    from ..commands.make_pairs import plan_pairs, warnings_of

    config = take(PairsConfig, values, max_seq_length=max_seq_length[0])
    values |= {"lengths": max_seq_length}
    plan = plan_pairs(corpus, vocab=vocab, output=output, config=config, **values)
    echo(plan.summary, err=not dry_run)
    for note in plan.notes:
        echo(with_option_names(note), err=True)
    for pairs in build(plan, options, dry_run):
        print_result(pairs, reading_line(str(pairs.path)))
        for warning in warnings_of(pairs):
            echo(f"warning: {with_option_names(warning)}", err=True, level="warning")
        if warning := poor_fit(pairs.manifest):
            echo(warning, err=True, level="warning")
