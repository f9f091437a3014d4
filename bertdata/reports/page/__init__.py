"""Write the report of a dataset or a training run: one HTML file without scripts and without requests to a network.

bertdata.report("corpus")                          # corpus/report.html

The page is made from the manifest and from a bounded part of the shards, so it takes seconds for a dataset of any size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...dataset import manifest as manifests
from ...dataset.build import REPORT
from ...dataset.manifest_types import CorpusManifest, Manifest, PairsManifest, VocabManifest
from ...errors import StorageError, VerificationError, few
from ...storage.files import to_path, write_text
from ...tokens.read import read_any
from .. import coverage
from ..card import source_names
from ..metrics import NAME as METRICS
from ..summary import count
from ..templates import render
from . import documents, rows, training
from .charts import flow

_PAGE = "page/report.html"
_TITLES = {"documents": "Corpus", "vocabulary": "Vocabulary", "pairs": "Rows", "export": "Export"}
_MAX_NAMED_INPUTS = 4


def report(directory: str | Path, *, output: str | Path | None = None) -> Path:
    """Write one HTML file that shows the contents of a dataset or a training run, and the losses of each stage.

    Each dataset gets a report when it is made, so this is for a run, or for a dataset that was made elsewhere.

    Args:
        directory: Directory that a command has written: a corpus, a vocabulary, rows, an export or a training run.
        output: The file to write. By default report.html in `directory`.

    Returns:
        The file.

    Raises:
        NoInputError: The directory contains neither a dataset nor a training run.
        VerificationError: A manifest or a shard is damaged.
        StorageError: A disk or a store fails.

    Examples:
        >>> from bertdata import build_corpus
        >>> from bertdata.sample import sample
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> report(corpus.path, output=here / "corpus.html").name
        'corpus.html'
    """
    path = to_path(str(directory))
    target = path / REPORT if output is None else to_path(str(output))
    try:
        if not (path / manifests.NAME).exists() and (path / METRICS).is_file():
            page = render(_PAGE, title=path.name or str(path), **training.contents(path))
        else:
            manifest = manifests.read(path)
            manifests.check_files(path, manifest.listed)
            page = render(_PAGE, **_contents(path, manifest))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # values that no command writes
        raise VerificationError(f"{path}: impossible values ({type(error).__name__}: {error}). Run bertdata verify") from error
    write_text(target, page)
    return target


def write_beside(root: Path, manifest: Manifest) -> None:
    """Write the report of a dataset that is being committed, before its manifest.

    The page does not depend on the machine or the time. An error in it is shown on the page and does not end a run of hours.
    """
    try:
        page = render(_PAGE, **_contents(root, manifest))
    except StorageError:
        raise
    except Exception as error:
        problem = f"This report could not be made ({type(error).__name__}: {error}). Please report it. The dataset is complete."
        page = render(_PAGE, title=_TITLES[manifest.kind], note=problem)
    write_text(root / REPORT, page)


def _contents(path: Path, manifest: Manifest) -> dict[str, Any]:
    about, origins = list[str](), few(source_names(manifest), _MAX_NAMED_INPUTS)
    if isinstance(manifest, CorpusManifest):
        body = documents.contents(path, manifest)
    elif isinstance(manifest, PairsManifest):
        config, body = manifest.settings, rows.contents(path, manifest)
        about = [f"objective {config.objective}", f"{config.max_seq_length:,} tokens a row{', packed' if config.pack else ''}"]
        about += [f"vocabulary of {manifest.vocab_size:,} tokens", f"seed {config.seed}"]
    elif isinstance(manifest, VocabManifest):
        sample, table = manifest.sample, coverage.rows(manifest.coverage, read_any(path).special.mark)
        figures = [("tokens", manifest.size), ("words counted", sample.words), ("distinct words", sample.distinct_words)]
        body = {"figures": [(name, f"{value:,}") for name, value in figures], "coverage": table, "accents": manifest.accents}
        origins, body = f"{manifest.size:,} tokens", {**body, "flows": [("", flow(manifest.counts))]}
    else:
        body = {"figures": [("rows", f"{manifest.rows:,}")], "flows": [("", flow(manifest.counts))]}
    about += [count(len(manifest.shards), "shard")] if manifest.shards else []
    note = "; ".join([*about, f"made with bertdata {manifest.versions['bertdata']}"])
    title = _TITLES[manifest.kind] + (f" of {origins}" if origins else "")
    return {"title": title, "note": note[0].upper() + note[1:], **body}
