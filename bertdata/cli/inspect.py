"""`bertdata inspect`: show the contents of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.languages import problem_of
from ..dataset.build import is_complete
from ..dataset.manifest import check_files, read, steady
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, ReadableManifest, VocabManifest
from ..errors import UsageError, did_you_mean, few
from ..pieces import shown
from ..records import Document
from ..reports.card import settings
from ..reports.select import reason_of
from ..reports.summary import describe
from ..run.state import run_state
from ..storage.terminal import clean
from .console import echo, print_wrapped
from .options import Command, to_path

if TYPE_CHECKING:
    from ..commands.inspect import Order

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
@click.option("--explain", metavar="ID", default="", help="Explain what happened to the document with this id.")
def command(
    directory: Path, n: int, row: int | None, random: bool, longest: bool, as_json: bool, epoch: int, explain: str, **wanted: str
) -> None:
    """Show a summary of the dataset in DIRECTORY, and decoded examples.

    For the output of an unfinished run, show whether it is running, and how many tasks are finished.

    Documents are shown as sentences, and ¶ marks the first sentence of a paragraph. Pairs are shown with A, B, label, segment
    ids, lengths and their static or dynamic masks. The command also checks that no file is missing and that all sizes match.
    Use `bertdata verify` to check the contents. --title, --language, --reason and --explain need a corpus, and
    --epoch needs rows.
    """
    from ..commands.inspect import explained, inspect

    if (state := run_state(directory)) not in ("complete", ""):
        echo(f"{directory}: {state}", err=as_json)
        if not is_complete(directory):
            return
    filters = {f"--{name}": text for name, text in wanted.items() if text}
    ways = ["--row"] * (row is not None) + ["--explain"] * bool(explain) + ["--random"] * random + ["--longest"] * longest
    ways += ["--reason"] * bool(wanted["reason"]) + [name for name in filters if name != "--reason"][:1]
    if len(ways := ways + ["--json"] * bool(as_json and explain)) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} cannot be combined. Use one of them")
    order: Order = "longest" if longest else "random" if random else "spread"
    with steady(directory):
        contents = read(directory)
        if explain:
            for line in explained(directory, explain):
                echo(line)
        elif not (as_json or filters or row is not None):
            show(directory, count=n, epoch=epoch, order=order, contents=contents)
        elif isinstance(contents, VocabManifest) and row is not None:
            _show_pieces(directory, [row])
        else:
            for record in (records := inspect(directory, n=n, row=row, order=order, **wanted)):
                if as_json:
                    echo(json.dumps(record, ensure_ascii=False))
                elif wanted["reason"]:
                    echo(f"{record['id']}  {reason_of(record)}")
                else:
                    show_row(directory, record, epoch, wanted["search"], contents)
            if filters and not records and n:
                named = ", ".join(f"{name} {text}" for name, text in filters.items())
                raise UsageError(f"{directory} contains nothing with {named}{_meant(directory, contents, wanted)}")


def _meant(directory: Path, contents: Manifest, wanted: dict[str, str]) -> str:
    """Suggest a language, or show an id, if there is no match."""
    from ..reports.select import example

    if not isinstance(contents, CorpusManifest):
        return ""
    known = sorted({code for source in contents.sources.values() for code in source.languages})
    if (language := wanted["language"]) and language not in known:
        problem = problem_of(language) or "use another language"
        return did_you_mean(language, known) or f": {problem}. The corpus has {few(known, _MAX_CODES)}"
    return f": ids here look like {example(directory, contents)}" if wanted["id"] else ""


def show(
    directory: Path,
    *,
    count: int,
    epoch: int = 0,
    order: Order = "spread",
    summary: bool = True,
    contents: Manifest | None = None,
) -> None:
    """Print a summary of a dataset, and examples in this order. `contents` is its manifest, if it has been read."""
    from ..commands.inspect import inspect

    contents = contents or read(directory)
    if epoch and not isinstance(contents, PairsManifest):
        raise UsageError(f"--epoch {epoch}: {directory} has no rows. Omit --epoch, or inspect what make-pairs wrote")
    if epoch and isinstance(contents, PairsManifest) and contents.settings.masking == "static":
        raise UsageError(
            f"--epoch {epoch}: the rows of {directory} have static masks, which are the same in every epoch. Omit --epoch"
        )
    check_files(directory, contents.listed)
    if summary:
        echo(describe(contents, directory))
        echo(f"  complete; made by bertdata {contents.versions['bertdata']}, with these settings:")
        made_with = settings(contents)
        width = max((len(name) for name, _ in made_with), default=0)
        for name, value in made_with:
            echo(f"    {name:{width}} {value}")
    if isinstance(contents, VocabManifest):
        _show_pieces(directory, None, 20 * count)
    elif not isinstance(contents, ExportManifest):  # show rows of the dataset that was exported instead
        for record in inspect(directory, n=count, order=order):
            echo()
            show_row(directory, record, epoch, contents=contents)


def _show_pieces(directory: Path, numbers: list[int] | None, count: int = 0) -> None:
    """Print tokens of a vocabulary, or `count` of them and the table of its languages."""
    from ..reports import coverage, examples
    from ..tokens.read import read_any

    vocabulary, contents = read_any(directory), read(directory)
    pieces, mark = vocabulary.pieces, vocabulary.special.mark
    chosen = numbers or sorted({*range(8), *examples.pick(len(pieces), count)})
    if not all(0 <= number < len(pieces) for number in chosen):
        raise UsageError(f"--row {chosen[0]}: {directory} has pieces 0 to {len(pieces) - 1}")
    _print([(2, "  ".join(f"{number} {shown(pieces[number], mark)}" for number in chosen))])
    if numbers is None and isinstance(contents, VocabManifest):
        echo(coverage.table(contents.coverage, mark))


def show_row(directory: Path, record: dict[str, Any], epoch: int = 0, search: str = "", contents: Manifest | None = None) -> None:
    """Print an example of `inspect`, with masks of `epoch` in color. `search` selects sentences."""
    from ..reports import examples
    from ..tokens.read import read_any

    contents, row = contents or read(directory), {name: value for name, value in record.items() if name not in ("row", "text")}
    assert isinstance(contents, ReadableManifest)
    if isinstance(contents, CorpusManifest):
        _print(examples.document_lines(Document(**row), search=search), search=search)
        return
    vocabulary = read_any(directory)
    mask = vocabulary.pieces[vocabulary.special.mask] if vocabulary.special.mask >= 0 else ""
    _print(examples.pair_lines(row, record["row"], vocabulary, contents.settings, epoch), mask, search)


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

    print_wrapped((indent, indent, coloured(line)) for indent, line in lines)
