"""The command line interface. Each command of `bertdata` is a module here, imported when the command runs."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from .. import __version__
from ..errors import BertDataError
from ..storage.problems import storage_errors

_COMMANDS = {
    "download": "Download Wikipedia dumps.",
    "build-corpus": "Extract documents from Wikipedia dumps, books and other text.",
    "train-vocab": "Train a vocabulary on a corpus: WordPiece or BPE.",
    "make-pairs": "Build training rows from a corpus and a vocabulary.",
    "export": "Convert a corpus or rows to the format of another trainer.",
    "train": "Train BERT on the rows of make-pairs.",
    "run": "Run the commands of one TOML file, from the input to a trained model.",
    "inspect": "Show a summary and examples of a dataset, or the state of a run.",
    "report": "Write an HTML report about a dataset or a training run.",
    "trace": "Trace one document from its wikitext to its sentences.",
    "verify": "Check datasets for corruption and inconsistent contents.",
    "doctor": "Check this machine's setup: versions, optional packages, memory and disk.",
    "demo": "Run the full pipeline on the included sample.",
}
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def load(name: str) -> click.Command:
    """Import a command."""
    module = importlib.import_module(f"{__name__}.{'run_file' if name == 'run' else name.replace('-', '_')}")
    command: click.Command = module.command
    return command


class _Lazy(click.Group):
    """List commands by name. Import a command only when it runs or shows its help."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return load(name) if name in _COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, commands=dict.fromkeys(_COMMANDS, click.Command("")), context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="bertdata")
def cli() -> None:
    """Build BERT pretraining corpora from Wikipedia dumps, books and other text.

    \b
        bertdata build-corpus --wikipedia DUMP --books DIR --output corpus
        bertdata train-vocab corpus --output vocab
        bertdata make-pairs corpus --vocab vocab --output pairs
        bertdata train run.toml --output run
        bertdata inspect pairs
        bertdata verify corpus vocab pairs

    Exit codes: 0 success, 1 internal error, 2 usage error or no input, 3 empty result or too many rejects, 4 disk or permission
    error, 5 output exists or is locked, 6 verification failed, 129, 130 and 143 stopped by a signal.
    """


def main() -> None:
    """Run the command line. Print each error as one message and exit with its code."""
    from ..storage.signals import signals
    from ..storage.terminal import guard
    from . import console

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the locale cannot encode must not stop a run
    guard()
    try:
        with storage_errors(), signals(lambda: console.answer()):
            code: Any = cli.main(prog_name="bertdata", standalone_mode=False, obj={"own_process": True})
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        code, context = error.exit_code, getattr(error, "ctx", None)
        hint = f" Try 'bertdata {context.info_name} --help'." if context and context.parent else " Try 'bertdata --help'."
        if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2, for `bertdata` alone: help is not an error message
            error.show()
        else:
            console.error(error.format_message() + hint)
    except (KeyboardInterrupt, click.Abort) as stopped:
        arguments = (stopped.__cause__ or stopped).args  # click converts an interrupt inside a command to Abort
        code = arguments[0] if arguments else 130
    except BertDataError as error:
        code = error.exit_code
        console.error(str(error))
    except Exception as error:
        if "--verbose" in sys.argv or "-v" in sys.argv:
            raise
        code = 1
        console.error(f"internal error ({type(error).__name__}: {error}). Run it with --verbose and please report its output")
    sys.exit(code if isinstance(code, int) else 0)
