"""Provide the inputs for benchmarks/all.py. Each is made once, when a command line needs it.

At `tiny`, all inputs come from the sample included with bertdata. At other sizes, they come from ../shared, which has real pages,
dumps and books, if it exists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import bertdata
from bertdata.records import FileRange, Page
from bertdata.sample import sample
from bertdata.sources.dumps import read_pages, read_site
from bertdata.stages import corpus_reader
from bertdata.text.wikitext import extract_paragraphs

__all__ = ["Inputs"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


class Inputs(Mapping[str, str]):
    """The inputs by name, for `str.format_map`.

    Args:
        size: ``tiny`` for the sample alone.
        work: An empty directory for generated inputs.
        made: Existing inputs, by name.
    """

    def __init__(self, size: str, work: Path, **made: str | Path) -> None:
        self._work, self._made = work, {name: str(path) for name, path in made.items()}
        self._real = size != "tiny" and SHARED.is_dir()

    def __getitem__(self, name: str) -> str:
        if name not in self._made:
            self._made[name] = str(_MAKERS[name](self))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)

    def work(self) -> Path:
        """Return the directory for files that a benchmark writes."""
        return self._work

    def dump(self) -> str:
        """Return a glob pattern of dumps of one wiki, in English."""
        if self._real:
            return f"{SHARED}/data/wiki/enwiki*.xml.bz2"
        return f"{sample()}/sampleenwiki-*multistream.xml.bz2"

    def books(self) -> Path:
        """Return a directory of books."""
        return SHARED / "data" / "books" if self._real else sample() / "books"

    def pages(self) -> Path:
        """Return JSON Lines of wikitext and paragraphs: real pages with MediaWiki's paragraphs, or the sample with ours."""
        if self._real:
            return SHARED / "extraction" / "dev_pages.jsonl.xz"
        path = self._work / "pages.jsonl"
        (dump,) = Path(sample()).glob("sampleenwiki-*multistream.xml.bz2")
        with path.open("w", encoding="utf-8") as file:
            part = FileRange(dump.name, str(dump), 0, dump.stat().st_size)
            for page in read_pages(part, read_site(str(dump)), 1 << 24):
                if not isinstance(page, Page):
                    continue
                told, text = {"source": "en22", "language": "en", "title": page.title}, page.text
                paragraphs = extract_paragraphs(text, title=told["title"], language="en")
                file.write(json.dumps({**told, "wikitext": text, "paragraphs": paragraphs}) + "\n")
        return path

    def texts(self) -> Path:
        """Return JSON Lines of languages and sentences."""
        if self._real:
            return SHARED / "extraction" / "dev_sentences.jsonl.xz"
        path, corpus = self._work / "texts.jsonl", corpus_reader.read(Path(self["corpus"]))
        with path.open("w", encoding="utf-8") as file:
            for task in corpus.tasks:
                for languages, sentences in corpus.reader.columns(task, "language", "sentences"):
                    for language, own in zip(languages.to_pylist(), sentences.to_pylist(), strict=True):
                        file.write(json.dumps({"language": language, "sentences": own}) + "\n")
        return path

    def corpus(self) -> Path:
        """Return a corpus of the dumps and books."""
        made = bertdata.build_corpus(wikipedia=self["dump"], books=self["books"], output=self._work / "corpus", workers=1)
        return made.path

    def vocab(self) -> Path:
        """Return a vocabulary of the corpus."""
        config = bertdata.VocabConfig(size=30522 if self._real else 4000)
        return bertdata.train_vocab(self["corpus"], output=self._work / "vocab", config=config, workers=1).path

    def pairs(self) -> Path:
        """Return pairs of up to 128 tokens."""
        return self._rows("pairs", bertdata.PairsConfig())

    def documents(self) -> Path:
        """Return rows of one document each, of up to 1,024 tokens."""
        return self._rows("documents", bertdata.PairsConfig(objective="documents", max_seq_length=1024))

    def packed(self) -> Path:
        """Return the same, packed."""
        return self._rows("packed", bertdata.PairsConfig(objective="documents", max_seq_length=1024, pack=True))

    def _rows(self, name: str, config: bertdata.PairsConfig) -> Path:
        output = self._work / name
        (made,) = bertdata.make_pairs(self["corpus"], vocab=self["vocab"], output=output, config=config, workers=1)
        return made.path


_MAKERS: dict[str, Callable[[Inputs], str | Path]] = {
    method.__name__: method
    for method in (
        Inputs.work,
        Inputs.dump,
        Inputs.books,
        Inputs.pages,
        Inputs.texts,
        Inputs.corpus,
        Inputs.vocab,
        Inputs.pairs,
        Inputs.documents,
        Inputs.packed,
    )
}
