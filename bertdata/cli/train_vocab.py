"""`bertdata train-vocab`: train a vocabulary on a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import VocabConfig
from .build import beam_options, build, common_options
from .options import Command, config_options, to_path


@click.command("train-vocab", cls=Command, arrow=True)
@click.argument("corpus", type=to_path)
@click.option("--output", required=True, type=to_path, metavar="PATH", help="Directory for the vocabulary.")
@config_options(VocabConfig)
@beam_options
@common_options
def command(corpus: Path, **values: Any) -> None:
    """Train a WordPiece or byte-level BPE vocabulary on the documents in CORPUS.

    The command writes tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt, for use with `transformers` and
    `tokenizers`. At the end it shows, for each language of the sample, the shares of words that are [UNK] or split, the tokens
    per word, and the longest split word. manifest.json stores these figures under "coverage".

    \b
        bertdata train-vocab corpus --size 30522 --output vocab
    """
    from ..commands.train_vocab import train_vocab

    build(train_vocab, corpus, **values)
