"""Write dumps, books and texts that share documents, paragraphs and ids, and build a corpus of them in this process."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from bertdata import build_corpus
from bertdata.config import CorpusConfig

TEXT = """the tide turned at noon and grey herons left marsh while ferry waited by old pier for nobody in long winter rain
seven lamps burned on every boat that crossed after dark until morning came over empty harbour walls"""
WORDS = TEXT.split()
HEAD = '<mediawiki xml:lang="en"><siteinfo><dbname>xwiki</dbname><base>https://en.wikipedia.org/wiki/M</base></siteinfo>\n'
Files = dict[str, list[Path]]


def sentence(draw: random.Random, words: int = 9) -> str:
    return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."


def story(draw: random.Random) -> list[str]:
    """Return paragraphs. Some are long enough for the rule of repeated paragraphs."""
    return [" ".join(sentence(draw) for _ in range(draw.randrange(1, 5))) for _ in range(draw.randrange(1, 6))]


def page(number: int, text: str) -> str:
    return (
        f"<page><title>P {number}</title><ns>0</ns><id>{number}</id><revision><id>9</id><text>{text}</text></revision></page>\n"
    )


def write_inputs(directory: Path, seed: int = 0, count: int = 60) -> Files:
    """Write two files of pages and of texts, and some books."""
    draw = random.Random(seed)
    known = [story(draw) for _ in range(count // 2)]
    shared = [" ".join(sentence(draw) for _ in range(4)) for _ in range(4)]

    def document() -> str:
        paragraphs = [*draw.choice(known)] if draw.random() < 0.4 else story(draw)
        if draw.random() < 0.3:
            paragraphs.insert(draw.randrange(len(paragraphs) + 1), draw.choice(shared))
        if draw.random() < 0.3:
            paragraphs = [text.upper().replace(" ", "  ") for text in paragraphs]
        return "\n\n".join([draw.choice(shared)] if draw.random() < 0.1 else paragraphs)

    directory.mkdir(parents=True, exist_ok=True)
    files: Files = {"wikipedia": [], "books": [], "text": []}

    def write(kind: str, name: str, text: str) -> None:
        (directory / name).write_text(text, encoding="utf-8")
        files[kind].append(directory / name)

    for name in "ab":
        pages = "".join(page(draw.randrange(1, count), document()) for _ in range(count // 3))
        write("wikipedia", f"{name}.xml", f"{HEAD}{pages}</mediawiki>\n")
        lines = [json.dumps({"id": draw.randrange(count), "text": document()}) for _ in range(count // 2)]
        write("text", f"{name}.jsonl", "\n".join(lines) + "\n")
        for number in range(count // 20):
            write("books", f"{name}{number}.txt", "\n\n".join(document() for _ in range(3)) + "\n")
    return files


def build(output: Path, files: Files, *, workers: int = 1, **options: Any) -> Path:
    """Build a corpus, or continue an earlier run."""
    config = CorpusConfig.with_options(None, {"id_column": "id", "task_bytes": 1 << 16, **options})
    build_corpus(**{kind: [*map(str, paths)] for kind, paths in files.items()}, output=output, config=config, workers=workers)
    return output
