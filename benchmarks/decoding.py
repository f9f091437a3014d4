"""Tell encodings beside charset-normalizer, in one run, on books and on text that is written in one: how often right, how fast.

    python benchmarks/decoding.py                  ../shared/data/books, and the texts of ../shared/extraction
    python benchmarks/decoding.py --pieces 5       less of each text
    python benchmarks/decoding.py --books DIR --texts FILE...

A piece is a run of characters of a text that, written in an encoding, has up to `--sizes` bytes, one of them above 0x7F.  It is
read whole and damaged: one byte is lost, or exchanged for another above 0x7F.  A whole piece is read right if each character
comes back; a damaged one if it is what Python's codec of the true encoding reads, U+FFFD for what it cannot, but for four
characters in a row.  A piece that is not read right is refused (a reject, whose encoding the user can name) or wrong.

charset-normalizer is measured with all its encodings, and with only those that bertdata tells (its `cp_isolation`); the encoding
it finds is decoded with the same mercy for what is damaged.  Texts are lines of JSON with ``language`` and ``sentences`` or
``paragraphs``.  MB/s is processor time, of one core.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import NamedTuple

from charset_normalizer import from_bytes
from ratios import ratio

from bertdata.sources.encodings import decode

SIZES = {
    "tiny": ["--books {books} --texts {texts} --pieces 1 --sizes 200"],
    "small": ["--books {books} --texts {texts} --pieces 1"],
    "full": [""],
}
SHARED = Path(__file__).resolve().parents[2] / "shared"
TEXTS = [SHARED / "extraction" / f"dev_{name}.jsonl.xz" for name in ("sentences", "sentences_more", "pages")]
GROUPS = {  # the languages of a group, and the encodings that their texts are written in
    "Western": ("en de fr es it pt nl sv fi", "latin-1 cp1252"),
    "Chinese": ("zh", "gb18030 big5"),
    "Japanese": ("ja", "cp932 euc-jp"),
    "Korean": ("ko", "cp949"),
    "Russian": ("ru", "cp1251 koi8-r cp866 iso8859-5"),
    "UTF-8": ("en de fr es it pt nl sv fi zh ja ko ru cs pl hu el tr he ar th uk", "utf-8"),
    # bertdata does not promise to tell these: it needs their name
    "Central European": ("cs pl hu", "iso8859-2 cp1250"),
    "Greek": ("el", "iso8859-7 cp1253"),
    "Turkish": ("tr", "cp1254"),
    "Hebrew": ("he", "cp1255"),
    "Arabic": ("ar", "cp1256"),
    "Thai": ("th", "cp874"),
    "Ukrainian": ("uk", "cp1251 koi8-u"),
}
PROMISED = tuple(GROUPS)[:6]
OURS = ["utf_8", "cp1252", "latin_1", "gb18030", "big5", "cp950", "big5hkscs", "cp932", "euc_jp", "cp949"]
OURS += ["cp1251", "koi8_r", "cp866", "iso8859_5"]
MOST_DIFFERENT = 4  # characters that a damaged byte may change: as many as UTF-8 has bytes
DECLARED = re.compile(rb"^Character set encoding:\s*([\w.-]+)", re.IGNORECASE | re.MULTILINE)

Read = Callable[[bytes], "str | None"]


class Piece(NamedTuple):
    """Bytes and what they say; `data` is `text` in an encoding, perhaps damaged."""

    group: str
    encoding: str
    size: int
    damaged: bool
    text: str
    data: bytes


def ours(data: bytes) -> str | None:
    """Read bytes as build-corpus does, None where it refuses them."""
    try:
        return decode(data)
    except ValueError:
        return None


def normalizer(data: bytes, only: list[str] | None = None) -> str | None:
    """Read bytes in the encoding that charset-normalizer finds, None where it finds none."""
    best = from_bytes(data, cp_isolation=only).best()
    return data.decode(best.encoding, "replace").removeprefix("\ufeff") if best else None


READERS: dict[str, Read] = {
    "bertdata": ours,
    "charset-normalizer": normalizer,
    "the same, only ours": lambda data: normalizer(data, OURS),
}


def main() -> int:
    """Measure and print the tables; return the exit code."""
    options = _options()
    texts = _texts(options.texts)
    pieces = [*_books(options.books), *_pieces(texts, options)]
    if not pieces:
        sys.exit("decoding.py: no books and no texts: give some with --books and --texts")
    seconds, outcomes = _measure(pieces)
    print(f"{len(pieces)} pieces, {sum(len(piece.data) for piece in pieces) / 1e6:.2f} MB\n")
    _table([(f"{piece.group} {piece.encoding}", piece.damaged) for piece in pieces], outcomes)
    _table([(_sum(piece), piece.damaged) for piece in pieces], outcomes)
    print(f"{'MB/s':24}{'pieces':>10}" + "".join(f"{name:>22}" for name in READERS))
    sizes = Counter[int]()
    for piece in pieces:
        sizes[piece.size] += len(piece.data)
    for size, total in sorted(sizes.items()):
        speeds = (total / 1e6 / max(1e-9, seconds[name, size]) for name in READERS)
        count = sum(piece.size == size for piece in pieces)
        print(f"{_length(size):24}{count:10}" + "".join(f"{speed:22.2f}" for speed in speeds))
    _compare(pieces, outcomes, seconds)
    return 0


def _compare(pieces: list[Piece], outcomes: list[dict[str, str]], seconds: dict[tuple[str, int], float]) -> None:
    """Tell how often the encodings that are promised are right, and how fast all pieces are read."""
    promised = [outcome for piece, outcome in zip(pieces, outcomes, strict=True) if piece.group in PROMISED]
    total, peer = sum(len(piece.data) for piece in pieces) / 1e6, "charset-normalizer"
    right = {name: sum(outcome[name] == "right" for outcome in promised) / max(1, len(promised)) for name in READERS}
    speed = {name: total / sum(spent for (own, _), spent in seconds.items() if own == name) for name in READERS}
    ratio("encodings of short texts, whole and damaged", right["bertdata"], "share read right", peer, right[peer])
    ratio("encodings of short texts, speed", speed["bertdata"], "MB/s", peer, speed[peer])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--books", type=Path, default=SHARED / "data" / "books", help="directory of .txt files that name their encoding")
    add("--texts", type=Path, nargs="*", default=TEXTS, help="lines of JSON, .jsonl or .jsonl.xz")
    add("--sizes", type=int, nargs="+", default=[200, 1000, 5000], help="bytes of a piece  [default: 200 1000 5000]")
    add("--pieces", type=int, default=20, help="pieces of each language, encoding and size, whole and damaged  [default: 20]")
    add("--seed", type=int, default=1)
    return parser.parse_args()


def _texts(paths: list[Path]) -> dict[str, list[str]]:
    """Return the sentences or paragraphs of each language."""
    texts: dict[str, list[str]] = defaultdict(list)
    for path in filter(Path.is_file, paths):
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                texts[row["language"]] += row.get("sentences") or row["paragraphs"]
    return texts


def _books(directory: Path) -> Iterator[Piece]:
    """Return the books that name their encoding, as they are."""
    for path in sorted(directory.glob("*.txt")):
        data = path.read_bytes()
        if named := DECLARED.search(data):
            text = data.decode(named[1].decode()).removeprefix("\ufeff")
            yield Piece("books", "as they are", 0, False, text, data)


def _pieces(texts: dict[str, list[str]], options: argparse.Namespace) -> Iterator[Piece]:
    """Draw pieces of each language's text in each encoding of its group."""
    for group, (languages, encodings) in GROUPS.items():
        for language in filter(texts.get, languages.split()):
            for encoding in encodings.split():
                for size in options.sizes:
                    chance = random.Random(f"{options.seed} {language} {encoding} {size}")
                    for text, data in _draw(texts[language], encoding, size, options.pieces, chance):
                        yield Piece(group, encoding, size, False, text, data)
                        damaged = damage(data, chance)
                        yield Piece(group, encoding, size, True, damaged.decode(encoding, "replace"), damaged)


def _draw(parts: list[str], encoding: str, size: int, count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Return pieces that begin with a sentence or paragraph; those that the encoding cannot write are left out."""
    parts = [part for part in parts if _writable(part, encoding)]
    glue = "" if encoding in ("gb18030", "big5", "cp932", "euc-jp") else " "
    for _ in range(count if parts else 0):
        start = chance.randrange(len(parts))
        text = glue.join([*parts[start : start + size], *parts[:start]][:size])[:size]
        data = text.encode(encoding)
        while len(data) > size:
            text = text[: min(len(text) - 1, len(text) * size // len(data) + 1)]
            data = text.encode(encoding)
        if not data.isascii():
            yield text, data


def _writable(text: str, encoding: str) -> bool:
    try:
        return text.encode(encoding).decode(encoding) == text
    except UnicodeError:
        return False


def damage(data: bytes, chance: random.Random) -> bytes:
    """Lose a byte of data, or exchange it for one above 0x7F.

    >>> {damage(b"abc", random.Random(seed))[:1] for seed in range(20)} >= {b"a", b"b"}
    True
    """
    at = chance.randrange(len(data))
    return data[:at] + (b"" if chance.random() < 0.5 else bytes([chance.randrange(0x80, 0x100)])) + data[at + 1 :]


def near(got: str, want: str, most: int = MOST_DIFFERENT) -> bool:
    """Tell whether two texts are equal but for `most` characters in a row of each.

    >>> near("a tea cup", "a t\\ufffda cup"), near("a cup of tea", "o cup of teo", 4)
    (True, False)
    """
    shorter = min(len(got), len(want))
    head = next((at for at in range(shorter) if got[at] != want[at]), shorter)
    tail = next((at for at in range(shorter - head) if got[-1 - at] != want[-1 - at]), shorter - head)
    return max(len(got), len(want)) - head - tail <= most


def judge(piece: Piece, got: str | None) -> str:
    """Return right, wrong or refused."""
    if got is None:
        return "refused"
    return "right" if (near(got, piece.text) if piece.damaged else got == piece.text) else "wrong"


def _measure(pieces: list[Piece]) -> tuple[dict[tuple[str, int], float], list[dict[str, str]]]:
    """Give each piece to each reader in turn; return processor seconds by reader and size, and what became of each piece."""
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    outcomes: list[dict[str, str]] = []
    for read in READERS.values():
        read(pieces[0].data[:200])  # what is loaded once is no piece's cost
    for piece in pieces:
        outcome = {}
        for name, read in READERS.items():
            start = process_time()
            got = read(piece.data)
            seconds[name, piece.size] += process_time() - start
            outcome[name] = judge(piece, got)
        outcomes.append(outcome)
    return seconds, outcomes


def _table(rows: list[tuple[str, bool]], outcomes: list[dict[str, str]]) -> None:
    """Print the share of right and of wrong readings, of whole and of damaged pieces, by row."""
    print(f"{'right / wrong, %':36}{'pieces':>8}" + "".join(f"{name:>22}" for name in READERS))
    for row in sorted(set(rows), key=lambda row: (row[1], rows.index(row))):
        found = [outcome for name, outcome in zip(rows, outcomes, strict=True) if name == row]
        cells = ""
        for name in READERS:
            right, wrong = (100 * sum(outcome[name] == how for outcome in found) / len(found) for how in ("right", "wrong"))
            cells += f"{f'{right:.1f} / {wrong:.1f}':>22}"
        print(f"{row[0]:28}{'damaged' if row[1] else 'whole':8}{len(found):8}{cells}")
    print()


def _sum(piece: Piece) -> str:
    """Name the row that sums up a piece: those that bertdata promises to tell by size, and the others."""
    if not piece.size:
        return "books"
    return f"promised, {_length(piece.size)}" if piece.group in PROMISED else "others"


def _length(size: int) -> str:
    return f"{size:,} bytes" if size else "books"


if __name__ == "__main__":
    sys.exit(main())
