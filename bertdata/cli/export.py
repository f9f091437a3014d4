"""`bertdata export`: convert a corpus or rows to the format of another trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import ExportConfig
from .build import build, common_options
from .options import Command, config_options, to_path


@click.command("export", cls=Command, arrow=True)
@click.argument("directory", type=to_path)
@config_options(ExportConfig)
@click.option(
    "--vocab",
    type=to_path,
    metavar="PATH",
    help="Vocabulary, as for make-pairs. Needed to export a corpus to a format with token ids.",
)
@click.option(
    "--output", required=True, type=to_path, metavar="PATH", help="Output directory. The files are written to data/ inside it."
)
@common_options
def command(directory: Path, **values: Any) -> None:
    """Convert the corpus or the rows in DIRECTORY to the format of another trainer, one output shard per input shard.

    \b
        jsonl     text of a corpus, one document per line
        parquet   text of a corpus, or rows, with a data card for the Hub
        mds       rows, for MosaicML Streaming
        megatron  token ids of a corpus' sentences, encoded with --vocab
        tfrecord  pairs with static masks, for google-research/bert

    Use packed rows in mds only with trainers that mask attention between documents.

    \b
        bertdata export pairs-1024 --to mds --output rows
        bertdata export corpus --to jsonl --output text
    """
    from ..commands.export import export

    build(export, directory, **values)
