"""`bertdata train-vocab`: train a vocabulary on a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import VocabConfig
from ..reports.vocabulary_warnings import fewer, unknown
from ..storage.files import is_local
from .build_commands import build, common_options, echo, print_result, take_options
from .options import Command, config_options, take, with_option_names
from .paths import to_path

__all__ = ["command"]


_FIRST = ("output", "size", "lowercase", "strip_accents", "sample_bytes", "seed", "dry_run", "overwrite", "workers", "config")


@click.command("train-vocab", cls=Command, arrow=True, first=_FIRST)
@click.argument("corpus", type=to_path)
@click.option("--output", required=True, type=to_path, metavar="PATH", help="Directory for the vocabulary.")
@config_options(VocabConfig)
@common_options
def command(corpus: Path, output: Path, **values: Any) -> None:
    """Train a WordPiece, BPE or Unigram vocabulary on the documents in CORPUS.

    The command writes tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt, for use with `transformers` and
    `tokenizers`. At the end it shows, for each language of the sample, the shares of words that are [UNK] or split, the tokens
    per word, and the longest split word. manifest.json stores these figures under "coverage".

    \b
        bertdata train-vocab corpus --size 30522 --output vocab
    """
    options, dry_run = take_options(values)
    from ..commands.train_vocab import plan_vocab
    from ..reports.coverage import table
    from ..tokens.read import read_any

    plan = plan_vocab(corpus, output=output, config=take(VocabConfig, values))
    echo(plan.summary, err=not dry_run)
    for vocab in build(plan, options, dry_run):
        if vocab.new:
            echo(table(vocab.manifest.coverage, read_any(vocab.path).special.mark))
        config = vocab.manifest.settings
        kind = "BertTokenizerFast" if config.model == "wordpiece" else "AutoTokenizer"
        print_result(vocab, f'transformers.{kind}.from_pretrained("{output}")' if is_local(output) else "")
        for warning in filter(None, (fewer(vocab.manifest.size, config), unknown(vocab.manifest.coverage, config))):
            echo(with_option_names(warning), err=True, level="warning")
