"""`bertdata make-pairs`: build training rows from a corpus and a vocabulary."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from ..config import PairsConfig
from .build import beam_options, build, common_options
from .options import Command, config_options, option, to_path

_of_text = partial(option, section="Rows", folded=True, default=None)


@click.command("make-pairs", cls=Command, arrow=True)
@click.argument("corpus", type=to_path)
@option(
    "--vocab",
    section="Rows",
    required=True,
    type=to_path,
    metavar="PATH",
    help="Vocabulary: output of train-vocab, vocab.txt, tokenizer.json, the directory of a model of transformers, or the name "
    "of a model of the Hugging Face Hub.",
)
@config_options(PairsConfig, multiple=("max_seq_length",))
@_of_text("--lowercase/--cased", help="Lowercase text, if --vocab is a bare vocab.txt.  [default: detected from its tokens]")
@_of_text("--strip-accents/--no-strip-accents", help="Strip accents, if --vocab is a bare vocab.txt.  [default: on if lowercase]")
@option("--output", section="Output", required=True, metavar="PATH", help="Directory for the rows, or one for each {length}.")
@beam_options
@common_options
def command(corpus: Path, **values: Any) -> None:
    """Build sentence pairs for BERT, or rows for another objective, from the documents in CORPUS.

    Half of the pairs are NotNext (for sop: swapped). Length, position, language and script do not reveal which. By default,
    rows are stored without masks, and each epoch masks them differently during loading. Use --masking static to store masks.

    \b
        bertdata make-pairs corpus --vocab vocab --max-seq-length 128 --max-seq-length 512 --output 'pairs-{length}'
    """
    from ..commands.make_pairs import make_pairs

    build(make_pairs, corpus, **values)
