"""`bertdata build-corpus`: extract documents from Wikipedia dumps, books and other text."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..config import ChoiceConfig, CorpusConfig, FilterConfig
from ..config.input_kinds import INPUTS, PROJECTS
from ..errors import UsageError
from ..reports.card import reading_line
from ..reports.summary import count, size
from .build_commands import build, common_options, echo, print_result, take_options
from .options import Command, config_options, sections_of, take
from .paths import LocalPath, to_path

if TYPE_CHECKING:
    from ..dataset.data_set import DataSet
    from ..dataset.manifest_records import Input
    from ..dataset.manifest_types import CorpusManifest

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

_SLOW_PLAN_S = 5.0  # seconds of planning after which the command prints that it is planning
_MAX_LISTED = 20  # input files listed in a plan
_SECTIONS = sections_of(CorpusConfig, FilterConfig, ChoiceConfig, Input=(*INPUTS, "read"))
_SECTIONS["Wikipedia"].append("templates")
_SECTIONS["Document filters"] += ["exclude", "exclude_ids", "maps", "filters"]
_SECTIONS["Input"].append("depends_on")
_SECTIONS["Output"].insert(0, "output")
_FIRST = (
    *(*INPUTS, "read", "max_documents", "output", "languages", "exclude", "dedup", "mix"),
    *("dry_run", "overwrite", "workers", "config"),
)


def _input_options(command: F) -> F:
    """Add an option for each kind of input."""
    for name, kind in reversed(INPUTS.items()):
        command = click.option(f"--{name}", multiple=True, metavar=kind.metavar, help=kind.help)(command)
    return command


@click.command("build-corpus", cls=Command, arrow=True, sections=_SECTIONS, first=_FIRST)
@_input_options
@click.option(
    "--read",
    multiple=True,
    type=(str, str),
    metavar="MODULE:FUNCTION PATH",
    help="Read files with your own function. It takes a path and yields documents (see docs/how-to/extending.md).",
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Edit documents with your own function before they are filtered. It takes a document and returns the edited document.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Filter documents with your own function. It takes a document and returns None or the reason to drop it.",
)
@click.option("--output", required=True, type=to_path, metavar="PATH", help="Directory for the corpus.")
@click.option(
    "--templates",
    multiple=True,
    type=LocalPath(),
    help="TOML file with your own templates. They override the built-in ones.",
)
@click.option(
    "--exclude",
    multiple=True,
    type=to_path,
    metavar="FILE",
    help="Drop documents that overlap with this evaluation set: 13 consecutive words. File: .txt (one example per line), .jsonl.",
)
@click.option(
    "--exclude-ids",
    multiple=True,
    type=to_path,
    metavar="FILE",
    help="Drop the documents whose ids are in this file, such as take-down requests. One id per line.",
)
@click.option(
    "--depends-on",
    multiple=True,
    type=to_path,
    metavar="FILE",
    help="File that your functions read (--map, --filter, --read, --sentence-splitter). Changing it counts as a changed option.",
)
@config_options(CorpusConfig, FilterConfig, ChoiceConfig)
@common_options
def command(
    read: tuple[tuple[str, str], ...],
    maps: tuple[str, ...],
    filters: tuple[str, ...],
    output: Path,
    templates: tuple[Path, ...],
    exclude: tuple[Path, ...],
    exclude_ids: tuple[Path, ...],
    depends_on: tuple[Path, ...],
    **values: Any,
) -> None:
    """Extract documents from dumps, books and other text.

    Each input option can be repeated. Wiki pages keep their paragraphs, without lists, tables, headings and references.
    OUTPUT/rejects lists malformed records, and OUTPUT/manifest.json has all counts.

    \b
        bertdata build-corpus --wikipedia dumps --books books --output corpus
    """
    options, dry_run = take_options(values)
    from ..commands.build_corpus import plan_corpus, with_files

    bounds, choice = take(FilterConfig, values), take(ChoiceConfig, values)
    inputs = {name: values.pop(name) for name in INPUTS}
    if templates and not inputs["wikipedia"]:
        raise UsageError("`templates` does nothing without `wikipedia`", field="templates")
    files = with_files({"templates": templates, "exclude": exclude, "exclude_ids": exclude_ids, "depends_on": depends_on})
    config = take(CorpusConfig, values, filters=bounds, choice=choice, **files)
    _announce_excluded(config)
    with _planning():
        plan = plan_corpus(
            output=output, inputs=inputs, read=read, maps=maps, filters=filters, config=config, overwrite=options.overwrite
        )
    echo(plan.summary, err=not dry_run)
    entries = []
    listed = [entry for entry in entries if dry_run or entry.source in PROJECTS]
    for entry in listed[:_MAX_LISTED]:
        echo(f"  {entry.source:10} {entry.name}  {size(entry.bytes)}, {_plan_of(entry)}", err=not dry_run)
    if more := listed[_MAX_LISTED:]:
        total = size(sum(entry.bytes for entry in more))
        echo(f"  and {count(len(more), 'more file')}, {total}", err=not dry_run)
    for note in plan.notes:
        echo(note, err=not dry_run)
    for corpus in build(plan, options, dry_run):
        print_result(corpus, reading_line(str(output)))
        _report_excluded_ids(corpus, config)


@contextlib.contextmanager
def _planning() -> Iterator[None]:
    """Print that the command is planning if that takes long, for example because a store does not answer."""
    timer = threading.Timer(_SLOW_PLAN_S, echo, ["build-corpus: planning the tasks from the input files"], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _report_excluded_ids(corpus: DataSet[CorpusManifest], config: CorpusConfig) -> None:
    """Print how many documents were dropped by id, because a mistyped id drops nothing."""
    if config.exclude_ids:
        from ..stages.corpus.filtering import load_ids

        ids = len(load_ids(config.exclude_ids))
        dropped = sum(stage.dropped.get("excluded id", 0) for stage in corpus.counts)
        echo(f"  exclude-ids: {count(ids, 'id')} listed, {count(dropped, 'document')} dropped")
        if dropped < ids:
            echo(f"  {count(ids - dropped, 'id')} matched no document. Look one up: bertdata inspect {corpus.path} --explain ID")


def _announce_excluded(config: CorpusConfig) -> None:
    """Read the files of ids and evaluation sets, and print how many ids and word runs they have."""
    if config.exclude_ids:
        from ..stages.corpus.filtering import load_ids

        echo(f"  exclude-ids {count(len(load_ids(config.exclude_ids)), 'id')}", err=True)
    if config.exclude:
        from ..stages.corpus.filtering import load_grams

        grams = load_grams(config.exclude)
        short = f"; {grams.short:,} are too short to match" if grams.short else ""
        echo(f"  exclude    {count(grams.examples, 'example')} with {count(len(grams), 'run')} of words{short}", err=True)


def _plan_of(entry: Input) -> str:
    """Describe how a file is split, and which checksum it is checked against."""
    cuts = {"blocks": " cut at blocks of bzip2", "pages": " cut at pages"}
    parts = ["one piece" if entry.pieces == 1 else f"{entry.pieces} pieces{cuts.get(entry.cut, '')}"]
    if entry.checksum:
        parts.append(f"{entry.checksum.partition(':')[0]} to be checked")
    return ", ".join(parts)
