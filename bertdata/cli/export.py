"""`bertdata export`: a corpus or rows in the format that another trainer reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import ExportConfig
from .options import Command, config_options, take
from .paths import to_path
from .run import build, common_options, conclude, echo, foretell, take_options

__all__ = ["command"]


_FIRST = ("to", "split", "vocab", "output", "dry_run", "overwrite", "workers")


@click.command("export", cls=Command, arrow=True, first=_FIRST)
@click.argument("directory", type=to_path)
@config_options(ExportConfig)
@click.option("--vocab", type=to_path, metavar="PATH", help="For a format of ids that is made from a corpus: as for make-pairs.")
@click.option("--output", required=True, type=to_path, metavar="PATH", help="Directory; the files are in data/ below it.")
@common_options
def command(directory: Path, output: Path, vocab: Path | None, **values: Any) -> None:
    """Write the corpus or the rows in DIRECTORY in the format that another trainer reads, a shard for each shard.

    jsonl and parquet hold the text of a corpus, one document a row; mds holds rows, for MosaicML's streaming, and packed rows
    only for trainers that separate their documents; megatron the ids of a corpus' sentences, cut with --vocab; tfrecord and hdf5
    pairs with static masks, as google-research/bert and NVIDIA's BERT read them; lddl pairs with and without masks, as pieces.

    \b
        bertdata export pairs-1024 --to mds --output rows
        bertdata export corpus --to jsonl --output text
    """
    options = take_options(values)
    from ..commands.export import plan_export

    plan = plan_export(directory, output=output, config=take(ExportConfig, values), vocab=vocab)
    for line in (plan.summary, *plan.notes):
        echo(line, err=True)
    if options.dry_run:
        foretell(plan, options)
    else:
        for exported in build(plan, options):
            conclude(exported, "")
