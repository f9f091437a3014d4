"""`bertdata inspect`: show the contents of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.languages import problem_of
from ..dataset.build import is_complete
from ..dataset.manifest import check_files, read, steady
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, ReadableManifest, VocabManifest
from ..errors import UsageError, did_you_mean
from ..pieces import shown
from ..records import Document
from ..reports.summary import describe
from ..run.state import run_state
from ..storage.terminal import clean
from .build_commands import echo
from .folding import Line, print_folded
from .options import Command
from .paths import to_path

if TYPE_CHECKING:
    from ..commands.inspect import Order

__all__ = ["command", "show", "show_row"]

_MAX_CODES = 12  # languages listed in the error for a missing language
_RANDOM = r"\(random: [^)]{1,100}\)"


@click.command("inspect", cls=Command, arrow=True, writes=False)
@click.argument("directory", type=to_path)
@click.option("--n", "count", type=click.IntRange(min=0), default=5, show_default=True, help="Number of examples.")
@click.option("--row", type=int, help="Show only this row.")
@click.option("--language", default="", help="Show documents in this language, such as zh.")
@click.option("--title", default="", help="Show documents with these words in the title.")
@click.option(
    "--id",
    default="",
    help="Show the document, or the rows of the document, with this id.",
)
@click.option(
    "--search", default="", help="Show documents or rows that contain this text, with the matching sentences highlighted."
)
@click.option("--random", is_flag=True, help="Show random examples.")
@click.option("--longest", is_flag=True, help="Show the longest documents or rows.")
@click.option("--reason", default="", help="List the records that were dropped or rejected for this reason.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per example, for scripts.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="Epoch to show masks of.")
@click.option(
    "--explain",
    metavar="NAME",
    help="Explain why the documents with this id, title or file name were kept, dropped or rejected.",
)
def command(
    directory: Path,
    count: int,
    row: int | None,
    random: bool,
    longest: bool,
    reason: str,
    as_json: bool,
    epoch: int,
    explain: str | None,
    **wanted: str,
) -> None:
    """Show a summary of the dataset in DIRECTORY, and decoded examples.

    For the output of an unfinished run, show whether it is running, and how many tasks are finished.

    Documents are shown as sentences, and ¶ marks the first sentence of a paragraph. Pairs are shown with A, B, label, segment
    ids, lengths and their static or dynamic masks. The command also checks that no file is missing and that all sizes match.
    Use `bertdata verify` to check the contents. --title, --language, --reason and --explain need a corpus, and
    --epoch needs rows.
    """
    if (state := run_state(directory)) not in ("complete", ""):
        echo(f"{directory}: {state}")
        if not is_complete(directory):
            return
    order: Order = "longest" if longest else "random" if random else "spread"
    if as_json or reason:
        _records(directory, as_json, n=count, row=row, order=order, reason=reason, **wanted)
        return
    with steady(directory):
        if explain is not None:
            _explain(directory, explain)
        elif any(wanted.values()):
            _select(directory, count, epoch, wanted)
        else:
            show(directory, count=count, number=row, epoch=epoch, order=order)


def _records(directory: Path, as_json: bool, **options: Any) -> None:
    """Print examples as JSON, or dropped and rejected records with their reasons."""
    from ..commands.inspect import inspect

    for record in inspect(directory, **options):
        if as_json:
            echo(json.dumps(record, ensure_ascii=False))
        else:
            detail = record.get("detail") or record.get("where", "")
            echo(f"{record['id']}  {record['reason']}{f' ({detail})' if detail else ''}")


def _explain(directory: Path, id: str) -> None:
    manifest = read(directory)
    if not isinstance(manifest, CorpusManifest):
        raise UsageError(f"--explain {id}: {directory} contains {manifest.kind}: pass the corpus that they were built from")
    check_files(directory, manifest.listed)
    from ..reports.trace import explain

    for line in explain(directory, manifest, id):
        echo(line)


def _select(directory: Path, count: int, epoch: int, wanted: dict[str, str]) -> None:
    """Print the first matching documents or rows. Raise UsageError if there are none."""
    from ..reports.select import select

    contents = read(directory)
    check_files(directory, contents.listed)
    numbers = list(islice(select(directory, contents, wanted), count))
    for number in numbers:
        show_row(directory, number, epoch, search=wanted["search"])
        echo()
    if not numbers:
        filters = ", ".join(f"--{name} {text}" for name, text in wanted.items() if text)
        raise UsageError(f"{directory} contains nothing with {filters}{_meant(directory, contents, wanted)}")


def _meant(directory: Path, contents: Manifest, wanted: dict[str, str]) -> str:
    """Suggest a language, or show an id, if there is no match."""
    from ..reports.trace import example

    if not isinstance(contents, CorpusManifest):
        return ""
    known = sorted({code for source in contents.sources.values() for code in source.languages or {}})
    language = wanted["language"]
    if language and language not in known:
        many = f"{', '.join(known[:_MAX_CODES])}{', …' if len(known) > _MAX_CODES else ''}"
        return did_you_mean(language, known) or f": {problem_of(language) or 'use another language'}. The corpus has {many}"
    return f": ids here look like {example(directory, contents)}" if wanted["id"] else ""


def show_row(directory: Path, number: int, epoch: int = 0, search: str = "") -> None:
    """Print a document or a row, with masks of `epoch` in color. `search` selects sentences."""
    from ..reports import examples
    from ..tokens.read import read_any

    contents = read(directory)
    assert isinstance(contents, ReadableManifest)  # callers reject other kinds
    if isinstance(contents, CorpusManifest):
        _print(examples.document_lines(Document(**examples.row(directory, contents, number)), search=search), search=search)
        return
    config, vocabulary = contents.settings, read_any(directory)
    row = examples.row(directory, contents, number, vocabulary)
    mask = vocabulary.pieces[vocabulary.special.mask] if vocabulary.special.mask >= 0 else ""
    _print(examples.pair_lines(row, number, vocabulary, config, epoch), mask, search)


def show(directory: Path, *, count: int, number: int | None = None, epoch: int = 0, order: Order = "spread") -> None:
    """Print a summary of a dataset and examples in this order, or only row `number`."""
    manifest = read(directory)
    if epoch and isinstance(manifest, PairsManifest) and manifest.settings.masking == "static":
        raise UsageError(
            f"--epoch {epoch}: the rows of {directory} have static masks, which are the same in every epoch. Omit --epoch"
        )
    check_files(directory, manifest.listed)
    if number is None or isinstance(manifest, ExportManifest):
        echo(describe(manifest, directory))
        echo(f"  complete; made by bertdata {manifest.versions['bertdata']}; config: {_config(manifest.config)}")
    if isinstance(manifest, ExportManifest):
        return  # show rows of the dataset that was exported instead
    from ..reports import examples
    from ..tokens.read import read_any

    if isinstance(manifest, VocabManifest):
        vocabulary = read_any(directory)
        pieces, mark = vocabulary.pieces, vocabulary.special.mark
        if number is not None and not 0 <= number < len(pieces):
            raise UsageError(f"--row {number}: {directory} has pieces 0 to {len(pieces) - 1}")
        chosen = sorted({*range(8), *examples.pick(len(pieces), 20 * count)}) if number is None else [number]
        _print([(2, "  ".join(f"{i} {shown(pieces[i], mark)}" for i in chosen))])
        if number is None:
            from ..reports.coverage import table

            echo(table(manifest.coverage, mark))
        return
    if number is not None:
        show_row(directory, number, epoch)
        return
    from ..commands.inspect import choose

    assert isinstance(manifest, ReadableManifest)
    for each in choose(directory, manifest, count, order):
        echo()
        show_row(directory, each, epoch)


def _config(config: dict[str, object]) -> str:
    groups = [value if isinstance(value, dict) else {name: value} for name, value in config.items()]
    return ", ".join(f"{name} {value}" for group in groups for name, value in group.items() if value not in ("", []))


def _print(lines: Iterable[tuple[int, str]], mask: str = "", search: str = "") -> None:
    """Print indented lines, wrapped to the terminal's width, with the `mask` token and `search` highlighted."""
    from rich.text import Text

    found = re.compile(r"\s*".join(map(re.escape, search.split())), re.IGNORECASE)

    def coloured(line: str) -> Text:
        text = Text(clean(line))
        if mask:
            text.highlight_words([mask], "bold cyan")
        text.highlight_regex(_RANDOM, "magenta")
        text.highlight_words(["(kept)"], "green")
        if search:
            text.highlight_regex(found, "bold reverse")
        return text

    print_folded(Line(indent, indent, coloured(line)) for indent, line in lines)
