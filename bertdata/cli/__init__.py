"""The command line: each command of `bertdata` is a module here, which is imported when the command runs."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from .. import __version__, credentials
from ..errors import BertDataError
from ..io.storage import storage_errors
from .suggest import Suggesting

__all__ = ["cli", "main"]

_COMMANDS = {
    "download": "Fetch Wikipedia dumps and datasets of the Hub.",
    "build-corpus": "Extract documents from Wikipedia dumps, books and other text.",
    "train-vocab": "Train a vocabulary on a corpus: WordPiece, BPE or Unigram.",
    "make-pairs": "Build sentence pairs from a corpus and a vocabulary.",
    "export": "Write a corpus or rows in the format that another trainer reads.",
    "push": "Put a dataset on the Hugging Face Hub.",
    "train": "Train BERT on the pairs.",
    "inspect": "Show what a dataset holds, in words and examples.",
    "report": "Write a page about datasets or a training run, with pictures; compare them.",
    "trace": "Show what became of one document, from its wikitext to its rows.",
    "verify": "Read datasets again, and tell what is damaged or can't be right.",
    "templates": "Show which templates of Wikipedia dumps lose words, for none of the tables knows them.",
    "doctor": "Check this machine's setup: Python, optional packages, disk and memory.",
    "demo": "Run all of it on the sample that comes with bertdata.",
}


class _Lazy(Suggesting):
    """Know the commands by name, and import one only when it runs or shows its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="bertdata")
def cli() -> None:
    """Build BERT pretraining corpora: raw Wikipedia dumps and books in, training shards out.

    \b
        bertdata build-corpus --wikipedia DUMP --books DIR --output corpus
        bertdata train-vocab corpus --output vocab
        bertdata make-pairs corpus --vocab vocab --output pairs
        bertdata train run.toml --output run
        bertdata inspect pairs
        bertdata verify corpus vocab pairs

    Exit codes: 0 done, 1 internal error, 2 usage or no input, 3 empty result or too many rejects, 4 disk or permission,
    5 output exists or is locked, 6 verification failed, 129, 130 and 143 stopped by a signal.
    """


def main() -> None:
    """Run the command line; every error is one message and an exit code."""
    from ..io.signals import signals
    from ..io.terminal import guard
    from . import output
    from .bars import answer

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the locale can't write must not end a run
    for argument in sys.argv[1:]:
        if "://" in argument:
            credentials.mask_url(argument)  # whichever option it belongs to
    guard()
    if "--log-json" in sys.argv:  # options that click refuses are errors of this form, too
        output.speak(quiet=False, log_json=True)
    try:
        with storage_errors(), signals(answer, output.stop):
            code: Any = cli.main(prog_name="bertdata", standalone_mode=False, obj={"own_process": True})
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        if output.is_json():
            output.error(f"error: {error.format_message()}", error.exit_code)
        else:
            error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort) as stopped:
        arguments = (stopped.__cause__ or stopped).args  # click makes an Abort of the interrupt of a block in a command
        code = arguments[0] if arguments else 130
    except BertDataError as error:
        code = error.exit_code
        output.error(f"error: {error}", code)
    except Exception as error:
        if "--verbose" in sys.argv or "-v" in sys.argv:
            raise
        code, problem = 1, f"internal error: {type(error).__name__}: {error}"
        output.error(f"{problem}: run it with --verbose and please report what it prints", code)
    sys.exit(code if isinstance(code, int) else 0)
