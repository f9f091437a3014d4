"""Filter documents by length, language and overlap with test sets. A failing document gets a drop reason."""

from __future__ import annotations

from functools import cache

from ...config import CorpusConfig
from ...errors import ResumeError, UsageError
from ...records import Document, Drop
from ...storage.files import digest, open_file
from ...text import language
from ...text.filters import Grams, check, read_examples


def excluded(document: Document, config: CorpusConfig) -> Drop | None:
    """Return a Drop if the document's id is in a file of `exclude_ids`, else None."""
    ids = document.id, document.id.removeprefix(f"{document.source}:")  # a list may contain either form
    listed = config.exclude_ids and not load_ids(config.exclude_ids).isdisjoint(ids)
    return Drop("excluded id", document.id) if listed else None


def reason_to_drop(document: Document, config: CorpusConfig) -> Drop | None:
    """Return a Drop with the reason if a filter rejects the document, else None."""
    # From cheap to expensive: counts of characters, the language, overlap.
    if drop := check(document, config.filters):
        return drop
    languages = config.filters.languages
    if languages and (other := language.outside("\n".join(document.sentences), document.language, languages)):
        return Drop("language", document.id, f"language {other}, not {' or '.join(languages)}")
    if config.exclude and (shared := load_grams(config.exclude).find(" ".join(document.sentences))):
        return Drop("evaluation overlap", document.id, f"shares with an evaluation set: {shared}")
    return None


@cache
def load_grams(files: tuple[tuple[str, str, str], ...]) -> Grams:
    """Read the evaluation files, once per process. Raise ResumeError if a file has changed since the run began."""
    _check_unchanged("exclude", files)
    return Grams(text for name, path, _ in files for text in read_examples(name, path))


@cache
def load_ids(files: tuple[tuple[str, str, str], ...]) -> frozenset[str]:
    """Read files with one id per line, once per process. Raise ResumeError if a file has changed since the run began."""
    _check_unchanged("exclude_ids", files)
    ids: set[str] = set()
    for name, path, _ in files:
        with open_file(path) as file:
            try:
                ids.update(filter(None, (line.strip() for line in file.read().decode("utf-8-sig").splitlines())))
            except UnicodeDecodeError as error:
                raise UsageError(
                    f"`exclude_ids` {name}: it is not UTF-8 ({error}). Use a text file with one id per line",
                    field="exclude_ids",
                    value=name,
                ) from None
    return frozenset(ids)


def _check_unchanged(field: str, files: tuple[tuple[str, str, str], ...]) -> None:
    for name, path, sha256 in files:
        if digest(path) != sha256:
            raise ResumeError(
                f"`{field}` {name} has changed since this run began: start again with `overwrite`", field=field, value=name
            )
