"""`bertdata build-corpus`: documents from Wikipedia dumps, books and other text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import FORMATS, CorpusConfig
from ..errors import UsageError
from ..manifest import read, versions
from ..report.card import reading_line
from ..report.words import count, describe, size
from .run import Step, build, common_options, echo, take_options

__all__ = ["command"]

_DEFAULTS = CorpusConfig()


@click.command("build-corpus")
@click.option(
    "--wikipedia",
    multiple=True,
    metavar="DUMP",
    help="MediaWiki dump: .xml, plain or with .bz2, .gz, .xz, .zst; file, glob or directory.",
)
@click.option("--books", multiple=True, metavar="PATH", help="Books as .txt, one a file; file, glob or directory.")
@click.option("--text", multiple=True, metavar="PATH", help="Other text: .txt, .jsonl, .jsonl.gz; file, glob or directory.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Directory for the corpus.")
@click.option("--language", default="", metavar="CODE", help="Language of the input.  [default: as the input says, or by script]")
@click.option("--text-column", default=_DEFAULTS.text_column, show_default=True, help="JSONL field that holds the text.")
@click.option("--title-column", default=_DEFAULTS.title_column, show_default=True, help="JSONL field that holds the title.")
@click.option("--id-column", default="", help="JSONL field that identifies a document.  [default: its place in the file]")
@click.option(
    "--definition-lists",
    type=click.Choice(["drop", "keep"]),
    default="drop",
    show_default=True,
    help="Lines that begin with : or ; in a page: drop them as lists, or keep them as prose.",
)
@click.option("--variant", default="", metavar="CODE", help="Variant of a wiki with several, such as zh-cn or zh-tw.")
@click.option(
    "--inline-templates/--no-inline-templates",
    default=_DEFAULTS.inline_templates,
    show_default=True,
    help="Keep the words of templates in running prose: measures, dates, foreign words.",
)
@click.option(
    "--templates",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with templates of your own, above those that are known.",
)
@click.option("--drop-disambiguation", is_flag=True, help="Drop disambiguation pages.")
@click.option("--format", type=click.Choice(FORMATS), default=_DEFAULTS.format, show_default=True, help="Format of the shards.")
@click.option(
    "--task-bytes", type=int, default=_DEFAULTS.task_bytes, show_default=True, help="Input of one task, and so of one shard."
)
@click.option(
    "--max-page-bytes",
    type=int,
    default=_DEFAULTS.max_page_bytes,
    show_default=True,
    help="Reject larger pages, lines and books.",
)
@click.option(
    "--max-rejects",
    type=float,
    default=_DEFAULTS.max_rejects,
    show_default=True,
    help="Fail if a larger share of the input is broken.",
)
@common_options
def command(wikipedia: tuple[str, ...], books: tuple[str, ...], text: tuple[str, ...], output: Path, **values: Any) -> None:
    """Extract documents from dumps, books and other text.

    Each source may be given several times, and several in one run.  Lists, tables, headings, references and templates
    of a page are dropped, its paragraphs kept.  Broken records are listed in OUTPUT/rejects, and everything is counted in
    OUTPUT/manifest.json.

    \b
        bertdata build-corpus --wikipedia 'dumps/enwiki-*-multistream.xml.bz2' --books 'books/**/*.txt' --output corpus
    """
    options = take_options(values)
    config = CorpusConfig(templates=_tables(values.pop("templates")), **values)
    from bertdata.pipelines.build_corpus import BuildCorpus, plan

    from ..sources import SUFFIXES
    from ..sources.inputs import find

    patterns = {"wikipedia": wikipedia, "books": books, "text": text}
    files = {kind: find(given, SUFFIXES[kind], f"--{kind}") for kind, given in patterns.items() if given}
    planned = plan(config, files)
    total = sum(entry["bytes"] for entry in planned.inputs)
    read_in = f"{count(len(planned.inputs), 'file')}, {size(total)}, in {count(len(planned.tasks), 'task')}"
    echo(f"build-corpus: {read_in} -> {output}", err=True)
    for entry in planned.inputs:
        if options.dry_run or entry["source"] == "wikipedia":
            echo(f"  {entry['source']:10} {entry['name']}  {size(entry['bytes'])}, {_plan_of(entry)}", err=not options.dry_run)
    if options.dry_run:
        return
    inputs = [{key: entry[key] for key in ("name", "source", "bytes")} for entry in planned.inputs]
    identity = {"command": "build-corpus", "config": config.identity(), "inputs": inputs, "versions": versions()}
    steps = [Step("Extract", "extract", len(planned.tasks))]
    done = build(
        [output],
        [identity],
        options,
        tasks=len(planned.tasks),
        steps=steps,
        chain=lambda roots: BuildCorpus(planned, config, roots[0] or output),
    )
    echo(describe(read(output), output) if done else f"{output} is complete already: nothing to do")
    echo(f"Read it with: {reading_line(str(output))}")


def _tables(paths: tuple[Path, ...]) -> tuple[tuple[str, str], ...]:
    """Read the user's tables of templates: what a worker needs of them goes with its task."""
    tables: dict[str, str] = {}
    for path in paths:
        if path.name in tables:
            raise UsageError(f"--templates {path}: another file has this name: rename one of them")
        try:
            tables[path.name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--templates {path}: cannot read it ({error}): give a TOML file in UTF-8") from error
    return tuple(tables.items())


def _plan_of(entry: dict[str, Any]) -> str:
    """Say how a file is read and what it is checked against."""
    cuts = {"streams": " cut at streams", "blocks": " cut at blocks of bzip2", "pages": " cut at pages"}
    parts = ["whole" if entry["pieces"] == 1 else f"{entry['pieces']} pieces{cuts.get(entry.get('cut', ''), '')}"]
    if "checksum" in entry:
        parts.append(f"{entry['checksum'].partition(':')[0]} to be checked")
    if "index" in entry:
        parts.append("pages to be counted against its index")
    return ", ".join(parts)
