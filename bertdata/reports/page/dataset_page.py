"""Write the report of a dataset, or of several: one HTML file without scripts, that asks no network for anything.

bertdata.report("corpus")                          # corpus/report.html
bertdata.report("pairs-a", "pairs-b", output="compared.html")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...dataset import manifest as manifests
from ...dataset.build import REPORT
from ...dataset.manifest import steady
from ...dataset.manifest_types import ExportManifest, Manifest, PairsManifest, VocabManifest
from ...errors import NoInputError, StorageError, few
from ...storage.files import to_path, write_text
from ..licences import source_names
from ..summary import count
from . import documents, rows, training, vocabulary
from .compare import compare
from .flow import flow, stages_of
from .frame import chapter, frame, section_of
from .markup import Html, tag
from .section import Section, Subject, figures

__all__ = ["report", "write_beside"]

_MAX_NAMED_INPUTS = 4  # inputs that a title names
_FOOTNOTE = "Figures are from manifest.json; those that were measured are from rows spread evenly over the shards."


class _Kind(NamedTuple):
    title: str
    figures: Callable[[Subject[Any]], Html]
    sections: Callable[[Subject[Any]], Iterator[Section]]


def _of_export(subject: Subject[ExportManifest]) -> Iterator[Section]:
    yield Section("flow", "Counts by stage", flow(stages_of("", subject.manifest.counts)))


_KINDS = {
    "documents": _Kind("Corpus", documents.key_figures, documents.sections),
    "vocabulary": _Kind("Vocabulary", vocabulary.key_figures, vocabulary.sections),
    "pairs": _Kind("Rows", rows.key_figures, rows.sections),
    "export": _Kind("Export", lambda subject: figures([("rows", f"{subject.manifest.rows:,}")]), _of_export),
}


class _Part(NamedTuple):
    """A dataset on the page: its title, where that came from, its figures and its sections."""

    title: str
    note: str
    figures: Html
    sections: list[Section]


def report(directory: str | Path, *others: str | Path, output: str | Path | None = None) -> Path:
    """Write one HTML file that shows the contents of datasets or training runs, and the losses of each stage.

    It is made of the manifest and of a bounded part of the shards, so it takes seconds for a dataset of any size.  Each dataset
    gets one when it is made; of several that are given, those of one kind are compared.

    Args:
        directory: Directory that a command has written: a corpus, a vocabulary, rows, an export or a training run.
        others: More of them, to be compared with it, or to be shown on the same page.
        output: The file; report.html in `directory` if not given, which several need.

    Returns:
        The file that was written.

    Raises:
        NoInputError: A directory contains neither a dataset nor a training run.
        VerificationError: A manifest or a shard is damaged.
        StorageError: A disk or a store fails.

    Examples:
        >>> from bertdata import build_corpus
        >>> from bertdata.sample import sample
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> report(corpus.path, output=here / "corpus.html").name
        'corpus.html'
    """
    paths = [to_path(str(path)) for path in (directory, *others)]
    if len(paths) > 1 and output is None:
        raise NoInputError("`output`: pass a file for the report of several datasets", field="output")
    target = paths[0] / REPORT if output is None else to_path(str(output))
    names = _names(paths)
    with steady(*paths):
        parts = [_part_of(path, name, several=len(paths) > 1) for path, name in zip(paths, names, strict=True)]
        compared = _compared(paths, names)
        page = _page(parts, compared)
    write_text(target, page)
    return target


def write_beside(root: Path, manifest: Manifest) -> None:
    """Write the report of a dataset that is being committed, before its manifest.

    It does not depend on the machine or the time.  An error in it must not end a run of hours: the page then shows the error.
    """
    try:
        part = _part(Subject(root, manifest))
    except StorageError:
        raise
    except Exception as error:
        problem = f"This report could not be made ({type(error).__name__}: {error}): please report that. The dataset is whole."
        part = _Part(_KINDS[manifest.kind].title, "", Html(""), [Section("failed", "No report", tag("p", problem))])
    write_text(root / REPORT, _page([part], []))


def _names(paths: list[Path]) -> list[str]:
    """Name directories by their last parts, or wholly where these are not distinct."""
    last = [path.name or str(path) for path in (Path(str(path)) for path in paths)]
    return [name if Counter(last)[name] == 1 else str(path) for name, path in zip(last, paths, strict=True)]


def _is_run(path: Path) -> bool:
    return not (path / manifests.NAME).exists() and training.is_run(path)


def _part_of(path: Path, name: str, *, several: bool) -> _Part:
    """Return a dataset or a training run. `several` of them have their names, a single one its kind."""
    if _is_run(path):
        records = training.records_of(path)
        body = training.sections(records, training.predictions_of(path))
        return _Part(name, "Training run", training.key_figures(records), [*body])
    manifest = manifests.read(path)
    manifests.check_files(path, manifest.listed)
    return _part(Subject(path, manifest, name if several else ""))


def _part(subject: Subject[Manifest]) -> _Part:
    kind, manifest = _KINDS[subject.manifest.kind], subject.manifest
    own = kind.title + (f" of {made_of}" if (made_of := _origins(manifest)) else "")
    about = [own] if subject.name else []
    about += _settings(manifest) if isinstance(manifest, PairsManifest) else []
    about += [count(len(manifest.shards), "shard")] if manifest.shards else []
    about += [f"made with bertdata {manifest.versions['bertdata']}"]
    note = "; ".join(about)
    return _Part(
        subject.name or own,
        note[0].upper() + note[1:],
        kind.figures(subject),
        [each for each in kind.sections(subject) if each.body],
    )


def _origins(manifest: Manifest) -> str:
    """Describe the origin of a dataset: dumps with their dates, and other sources, or ``""`` if unknown."""
    if isinstance(manifest, VocabManifest):
        return f"{manifest.size:,} pieces"
    names = source_names(manifest)
    return few(names, _MAX_NAMED_INPUTS)


def _settings(manifest: PairsManifest) -> list[str]:
    """Describe how rows were made: the settings that distinguish datasets of one corpus."""
    config = manifest.settings
    known = [
        f"objective {config.objective}",
        f"{config.max_seq_length:,} tokens a row{', packed' if config.pack else ''}",
        f"vocabulary of {manifest.vocab_size:,} pieces",
    ]
    known += [f"words by {config.chinese_words}"] if config.chinese_words != "none" else []
    known += ["masks stored"] if config.masking != "none" else []
    known += [f"{config.dupe_factor:,} copies of each document"] if config.dupe_factor > 1 else []
    return [*known, f"seed {config.seed}"]


def _compared(paths: list[Path], names: list[str]) -> list[Section]:
    """Compare the datasets of each kind of which there are several, and the training runs."""
    kinds: dict[str, list[Subject[Manifest]]] = {}
    for path, name in zip(paths, names, strict=True):
        if (path / manifests.NAME).exists():
            subject = Subject(path, manifests.read(path), name)
            kinds.setdefault(subject.manifest.kind, []).append(subject)
    runs = [(n, training.records_of(p)) for p, n in zip(paths, names, strict=True) if _is_run(p)]
    several = [(kind, subjects) for kind, subjects in kinds.items() if len(subjects) > 1]
    sections = [
        compare(subjects)._replace(name=f"compare-{kind}", title=f"{_KINDS[kind].title}: compared") for kind, subjects in several
    ]
    return [*sections, *([training.compare(runs)] if len(runs) > 1 else [])]


def _page(parts: list[_Part], compared: list[Section]) -> str:
    """Put a page together: of one dataset its sections, of several a chapter each, after what compares them."""
    first = parts[0]
    if len(parts) == 1:
        links = [(section.name, section.title) for section in first.sections]
        return frame(first.title, first.note, first.figures, links, [section_of(each) for each in first.sections], _FOOTNOTE)
    links = [(section.name, section.title) for section in compared]
    body = [section_of(section) for section in compared]
    for index, part in enumerate(parts, 1):
        links.append((f"part-{index}", part.title))
        body.append(chapter(f"part-{index}", part.title, part.note, part.figures, part.sections))
    title = ", ".join(part.title for part in parts)
    return frame(title, "Several datasets on one page", Html(""), links, body, _FOOTNOTE)
