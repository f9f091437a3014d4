"""Filter documents by length, language, user functions and overlap with test sets. A failing document gets a drop reason."""

from __future__ import annotations

from functools import cache

from ...config import CorpusConfig
from ...errors import BertDataError, ResumeError, UsageError
from ...records import Document, Drop
from ...storage.files import digest, open_file
from ...storage.user_functions import load
from ...text import language
from ...text.filters import Grams, check, read_examples

__all__ = ["check_dependencies", "excluded", "load_grams", "load_ids", "reason_to_drop"]

_MAX_REASON_CHARS = 60  # maximum length of a reason: it is a key in the manifest's counts


def excluded(document: Document, config: CorpusConfig) -> Drop | None:
    """Return a Drop if the document's id is in a file of `exclude_ids`, else None."""
    listed = config.exclude_ids and not load_ids(config.exclude_ids).isdisjoint(_ids(document))
    return Drop("excluded id", document.id) if listed else None


def reason_to_drop(document: Document, config: CorpusConfig) -> Drop | None:
    """Return a Drop with the reason if a filter rejects the document, else None."""
    # From cheap to expensive: counts of characters, the language, overlap, and last the
    # user's functions, which get only documents that passed everything else.
    if drop := check(document, config.filters):
        return drop
    languages = config.filters.languages
    if languages and (other := language.outside("\n".join(document.sentences), document.language, languages)):
        return Drop("language", document.id, f"language {other}, not {' or '.join(languages)}")
    if config.exclude and (shared := load_grams(config.exclude).find(" ".join(document.sentences))):
        return Drop("evaluation overlap", document.id, f"shares with an evaluation set: {shared}")
    for name in config.filter_functions:
        if reason := _reason(name, document, config):
            return Drop(reason, document.id, f"filter {name}")
    return None


def _ids(document: Document) -> tuple[str, str]:
    """Return a document's id with and without the source prefix, because a list may contain either form."""
    return document.id, document.id.removeprefix(f"{document.source}:")


def _reason(name: str, document: Document, config: CorpusConfig) -> str:
    """Call a user-defined filter. Raise UsageError with the document's id if it raises or returns an invalid value."""
    try:
        reason = load(name, "filters", dict(config.functions).get(name, ""))(document)
    except BertDataError:
        raise
    except Exception as error:
        raise UsageError(
            f"`filters` {name} raises {type(error).__name__}: {error}, of the document {document.id}", field="filters", value=name
        ) from error
    if reason is None:
        return ""
    if not isinstance(reason, str) or not 0 < len(reason) <= _MAX_REASON_CHARS:
        raise UsageError(
            f"`filters` {name} returns {reason!r:.100} of the document {document.id}: return None to keep it, or a reason of at "
            f"most {_MAX_REASON_CHARS} characters",
            field="filters",
            value=name,
        )
    return reason


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


@cache
def check_dependencies(files: tuple[tuple[str, str, str], ...]) -> None:
    """Raise ResumeError if a `depends_on` file has changed since the run began. Each process checks once."""
    _check_unchanged("depends_on", files)


def _check_unchanged(field: str, files: tuple[tuple[str, str, str], ...]) -> None:
    for name, path, sha256 in files:
        if digest(path) != sha256:
            raise ResumeError(
                f"`{field}` {name} has changed since this run began: start again with `overwrite`", field=field, value=name
            )
