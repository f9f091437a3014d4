"""`bertdata build-corpus`: documents from Wikipedia dumps, books and other text."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from ..config import FORMATS, ChoiceConfig, CorpusConfig, FilterConfig, read_small
from ..errors import UsageError
from ..files import place
from ..manifest import versions
from ..report.card import reading_line
from ..report.words import count, size
from .bars import Step
from .choice_options import choice_options, take_choice
from .filter_options import filter_options, take_filters
from .run import build, common_options, conclude, echo, take_options
from .sections import Sectioned

__all__ = ["command"]

_DEFAULTS = CorpusConfig()


_SECTIONS = {
    "What to read": ("wikipedia", "books", "text", "language", "sentence_splitter", "max_documents"),
    "Wikipedia": ("definition_lists", "variant", "inline_templates", "templates", "drop_disambiguation"),
    "Books and text": ("text_column", "title_column", "id_column", "text_documents", "book_sentences", "verse", "encoding"),
    "Documents to drop, each under its reason": (*(f.name for f in dataclasses.fields(FilterConfig)), "exclude"),
    "Choice among all documents": tuple(f.name for f in dataclasses.fields(ChoiceConfig)),
    "Output": ("output", "format", "task_bytes", "max_page_bytes", "max_rejects"),
}


@click.command("build-corpus", cls=Sectioned, sections=_SECTIONS)
@click.option(
    "--wikipedia",
    multiple=True,
    metavar="DUMP",
    help="MediaWiki dump: .xml, plain or with .bz2, .gz, .xz, .zst; file, glob or directory.",
)
@click.option(
    "--books",
    multiple=True,
    metavar="PATH",
    help="Books: .txt or .epub, one a file; .tar (.gz, .bz2, .xz, .zst) of them; .jsonl, .parquet or .arrow, one a row; file, "
    "glob or directory.",
)
@click.option(
    "--text",
    multiple=True,
    metavar="PATH",
    help="Other text: .txt; .jsonl (.gz, .bz2, .xz, .zst), .parquet or .arrow, one a row; file, glob or directory.",
)
@click.option("--output", required=True, type=place, metavar="PATH", help="Directory for the corpus.")
@click.option(
    "--sentence-splitter",
    default=_DEFAULTS.sentence_splitter,
    show_default=True,
    metavar="NAME",
    help="Who splits sentences: sentencex, blingfire, regex or module:function; for one language too: blingfire,zh=sentencex.",
)
@click.option(
    "--language", default="", metavar="CODE", help="Language of the input.  [default: as the input says, or as its words look]"
)
@click.option("--text-column", default=_DEFAULTS.text_column, show_default=True, help="Column that holds the text.")
@click.option("--title-column", default=_DEFAULTS.title_column, show_default=True, help="Column that holds the title.")
@click.option("--id-column", default="", help="Column that identifies a document.  [default: its place in the file]")
@click.option(
    "--text-documents",
    type=click.Choice(["file", "blank-lines"]),
    default=_DEFAULTS.text_documents,
    show_default=True,
    help="What is a document of a .txt file of --text: the file, or what stands between blank lines.",
)
@click.option(
    "--verse",
    type=click.Choice(["auto", "keep", "drop"]),
    default=_DEFAULTS.verse,
    show_default=True,
    help="Verse in books: keep it, drop it, or keep poems and plays and drop what is quoted in prose (auto).",
)
@click.option(
    "--encoding",
    default="",
    metavar="NAME",
    help="Encoding of books and plain text, such as gb18030.  [default: as its bytes look]",
)
@click.option(
    "--book-sentences",
    type=int,
    default=_DEFAULTS.book_sentences,
    show_default=True,
    help="Sentences of a document of books_large_p1.txt and its like, where nothing tells where a book ends.",
)
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
    "--task-bytes",
    type=int,
    default=_DEFAULTS.task_bytes,
    help="Input of one task, and so of one shard.  [default: a 64th of the input, from 2 to 16 MB]",
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
@filter_options
@choice_options
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
    config = CorpusConfig(
        templates=_tables(values.pop("templates")), choice=take_choice(values), **take_filters(values), **values
    )
    _announce_excluded(config)
    from bertdata.pipelines.extraction.plan import packages, plan

    from ..sources import SUFFIXES
    from ..sources.inputs import find

    patterns = {"wikipedia": wikipedia, "books": books, "text": text}
    files = {kind: find(given, SUFFIXES[kind], f"--{kind}") for kind, given in patterns.items() if given}
    planned = plan(config, files)
    _announce(planned.inputs, len(planned.tasks), output, options.dry_run)
    if options.dry_run:
        return
    inputs = [{key: entry[key] for key in ("name", "source", "bytes")} for entry in planned.inputs]
    identity = {"command": "build-corpus", "config": config.identity(), "inputs": inputs, "versions": versions(packages(config))}

    def chain(roots: list[Path | None]) -> Any:
        from bertdata.pipelines.build_corpus import BuildCorpus

        return BuildCorpus(planned, config, roots[0] or output)

    steps = [Step("Extract", "extract", len(planned.tasks))]
    done = build(
        [output],
        [identity],
        options,
        reads=[path for found in files.values() for _, path in found],
        tasks=len(planned.tasks),
        steps=steps,
        chain=chain,
    )
    conclude(output, done, reading_line(str(output), config.format))


def _announce_excluded(config: CorpusConfig) -> None:
    """Read the evaluation files, and say what will be looked for."""
    if config.exclude:
        from bertdata.pipelines.extraction.filtering import load_grams

        grams = load_grams(config.exclude)
        short = f"; {grams.short:,} are too short to be found" if grams.short else ""
        echo(f"  exclude    {count(grams.examples, 'example')} with {count(len(grams), 'run')} of words{short}", err=True)


def _announce(inputs: list[dict[str, Any]], tasks: int, output: Path, dry_run: bool) -> None:
    """Say what will be read, and how it is cut."""
    read_in = f"{count(len(inputs), 'file')}, {size(sum(entry['bytes'] for entry in inputs))}, in {count(tasks, 'task')}"
    echo(f"build-corpus: {read_in} -> {output}", err=True)
    for entry in inputs:
        if dry_run or entry["source"] == "wikipedia":
            echo(f"  {entry['source']:10} {entry['name']}  {size(entry['bytes'])}, {_plan_of(entry)}", err=not dry_run)


def _tables(paths: tuple[Path, ...]) -> tuple[tuple[str, str], ...]:
    """Read the user's tables of templates: what a worker needs of them goes with its task."""
    tables: dict[str, str] = {}
    for path in paths:
        if path.name in tables:
            raise UsageError(f"--templates {path}: another file has this name: rename one of them")
        try:
            tables[path.name] = read_small(path).decode("utf-8")
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
