"""`bertdata inspect`: show the contents of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ..commands.inspect import Order, inspect
from ..config.languages import problem_of
from ..dataset.build import is_complete
from ..dataset.manifest import check_files, read, steady
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, VocabManifest
from ..errors import UsageError, few
from ..pieces import shown
from ..records import Document
from ..reports import coverage, examples
from ..reports.card import settings
from ..reports.select import example, explain, reason_of
from ..reports.summary import describe
from ..run.progress import run_state
from ..storage.terminal import clean
from ..tokens.read import read_any
from .console import echo, print_wrapped
from .options import Command, to_path

_MAX_CODES = 12  # languages listed in the error for a missing language
_RANDOM = r"\(random: [^)]{1,100}\)"


@click.command("inspect", cls=Command, arrow=True, writes=False)
@click.argument("directory", type=to_path)
@click.option("--n", type=click.IntRange(min=0), default=5, show_default=True, help="Number of examples.")
@click.option("--row", type=int, help="Show only this row.")
@click.option("--language", default="", help="Show documents in this language, such as zh.")
@click.option("--title", default="", help="Show documents with these words in the title.")
@click.option("--id", default="", help="Show the document, or the rows of the document, with this id.")
@click.option("--search", default="", help="Show documents or rows that contain this text, with the sentences highlighted.")
@click.option("--random", is_flag=True, help="Show random examples.")
@click.option("--longest", is_flag=True, help="Show the longest documents or rows.")
@click.option("--reason", default="", help="List the records that were dropped or rejected for this reason.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per example, for scripts.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="Epoch to show masks of.")
@click.option("--explain", "name", metavar="ID", default="", help="Explain what happened to the document with this id.")
def command(
    directory: Path, n: int, row: int | None, random: bool, longest: bool, as_json: bool, epoch: int, name: str, **wanted: str
) -> None:
    """Show a summary of the dataset in DIRECTORY, and decoded examples.

    For the output of an unfinished run, show whether it is running, and how many tasks are finished.

    Documents are shown as sentences, and ¶ marks the first sentence of a paragraph. Pairs are shown with A, B, label, segment
    ids, lengths and their static or dynamic masks. The command also checks that no file is missing and that all sizes match.
    Use `bertdata verify` to check the contents. --title, --language, --reason and --explain need a corpus, --epoch rows.
    """
    if (state := run_state(directory)) not in ("complete", ""):
        echo(f"{directory}: {state}", err=as_json)
        if not is_complete(directory):
            return
    filters = {f"--{option}": text for option, text in wanted.items() if text}
    ways = ["--row"] * (row is not None) + ["--explain"] * bool(name) + ["--random"] * random + ["--longest"] * longest
    ways += ["--reason"] * bool(wanted["reason"]) + [option for option in filters if option != "--reason"][:1]
    if len(ways := ways + ["--json"] * bool(as_json and name)) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} cannot be combined. Use one of them")
    order: Order = "longest" if longest else "random" if random else "spread"
    with steady(directory):
        contents = read(directory)
        if epoch and not (isinstance(contents, PairsManifest) and contents.settings.masking == "none"):
            fixed = f"the rows of {directory} have static masks, which are the same in every epoch. Omit --epoch"
            none = f"{directory} has no rows. Omit --epoch, or inspect what make-pairs wrote"
            raise UsageError(f"--epoch {epoch}: {fixed if isinstance(contents, PairsManifest) else none}")
        if name:
            for line in explain(directory, contents, name):
                echo(line)
        elif not (as_json or filters or row is not None):
            show(directory, count=n, epoch=epoch, order=order)
        else:
            for record in (records := inspect(directory, n=n, row=row, order=order, **wanted)):
                if as_json:
                    echo(json.dumps(record, ensure_ascii=False))
                elif wanted["reason"]:
                    echo(f"{record['id']}  {reason_of(record)}")
                else:
                    _show_row(directory, contents, record, epoch, wanted["search"])
            if filters and not records and n:
                named = ", ".join(f"{option} {text}" for option, text in filters.items())
                raise UsageError(f"{directory} contains nothing with {named}{_meant(directory, contents, wanted)}")


def _meant(directory: Path, contents: Manifest, wanted: dict[str, str]) -> str:
    """Suggest a language, or show an id, if nothing matches."""
    if not isinstance(contents, CorpusManifest):
        return ""
    known = sorted({code for source in contents.sources.values() for code in source.languages})
    if (language := wanted["language"]) and language not in known:
        return f". {problem_of(language) or 'Use another language'}. The corpus has {few(known, _MAX_CODES)}"
    return f": ids here look like {example(directory, contents)}" if wanted["id"] else ""


def show(directory: Path, *, count: int, epoch: int = 0, order: Order = "spread", summary: bool = True) -> None:
    """Print a summary of a dataset, and examples in this order."""
    contents = read(directory)
    check_files(directory, contents.listed)
    if summary:
        echo(describe(contents, directory))
    if isinstance(contents, VocabManifest):
        vocabulary = read_any(directory)
        pieces, mark = vocabulary.pieces, vocabulary.special.mark
        numbers = sorted({*range(8), *examples.pick(contents.size, 20 * count)})
        _print([(2, "  ".join(f"{number} {shown(pieces[number], mark)}" for number in numbers))])
        echo(coverage.table(contents.coverage, mark))
    elif not isinstance(contents, ExportManifest):  # show rows of the dataset that was exported instead
        for record in inspect(directory, n=count, order=order):
            echo()
            _show_row(directory, contents, record, epoch)
    if summary:
        echo(f"\nThe dataset is complete. bertdata {contents.versions['bertdata']} made it with these settings:")
        for name, value in settings(contents):
            echo(f"  {name.replace('_', '-'):21} {value}")


def _show_row(directory: Path, contents: Manifest, record: dict[str, Any], epoch: int, search: str = "") -> None:
    """Print an example of `inspect`, with masks of `epoch` in color. `search` selects sentences."""
    row = {name: value for name, value in record.items() if name not in ("row", "text")}
    if isinstance(contents, CorpusManifest):
        _print(examples.document_lines(Document(**row), search=search), search=search)
        return
    assert isinstance(contents, PairsManifest)
    vocabulary = read_any(directory)
    mask = vocabulary.pieces[vocabulary.special.mask] if vocabulary.special.mask >= 0 else ""
    _print(examples.pair_lines(row, record["row"], vocabulary, contents.settings, epoch), mask, search)


def _print(lines: Iterable[tuple[int, str]], mask: str = "", search: str = "") -> None:
    """Print indented lines, wrapped to the terminal's width, with the `mask` token and `search` highlighted."""
    found = r"(?i)" + r"\s*".join(map(re.escape, search.split()))
    styles = {re.escape(mask): "bold cyan", _RANDOM: "magenta", r"\(kept\)": "green", found * bool(search): "bold reverse"}
    texts = [(indent, indent, Text(clean(line))) for indent, line in lines]
    for _, _, text in texts:
        for pattern, style in styles.items():
            if pattern:
                text.highlight_regex(pattern, style)
    print_wrapped(texts)
