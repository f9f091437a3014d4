"""Look for wikitext that makes the extractor raise, write a broken paragraph, or take more than a second per megabyte.

    python benchmarks/fuzz.py 10                           ten minutes, on the pages of ../shared/extraction
    python benchmarks/fuzz.py 10 --seed 7 --pages my.jsonl.xz
    python benchmarks/fuzz.py 0 --seed 7 --case 12345      one case again

A case is a function of the seed and its number: a real page with bytes flipped, deleted, doubled, cut off or taken from
another page; a piece of one, repeated up to a megabyte; or markup put together at random.  Small cases run with every
combination of options, large ones with one.  Time is processor time, the best of three where it looks too long.

A failing case is made smaller, saved under --save and named; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import lzma
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertdata.keys import key
from bertdata.text.wikitext import extract_paragraphs, is_disambiguation, is_redirect, load_templates

PAGES = Path(__file__).resolve().parents[2] / "shared" / "extraction" / "dev_pages.jsonl.xz"
SAVE = Path(tempfile.gettempdir()) / "bertdata-fuzz"
MEGABYTE = 1_000_000
TIMED = 20_000  # bytes from which on the time is judged
ALLOWED = 1.0  # processor seconds per megabyte
PATIENCE = 20  # times the allowed time after which a case is broken off
TRIES = 300  # attempts to make a failing case smaller
SHOWN = 5  # failures of a kind that are saved; the rest is counted

WORDS = r"""
    {{ }} {{{ }}} {{!}} {{a|b}} {{convert|5|mi|km}} {{lang|la|x}} {{#if:a|b}} {{#switch:a|b=c}} {{#expr:1+2}} {{formatnum:1}}
    {{cn}} {{nowrap| {{quote|text= {{convert| {{#if: {{#expr:( {{lc: {{=}} [[ ]] [ ] [[a|b]] [[a|]] [[File: [[File:a|thumb|
    [[Category: [[:fr: [http://x http://x <ref> </ref> <ref/> <ref <!-- --> <math> </math> <nowiki> </nowiki> <nowiki/> <poem>
    </poem> <div> </div> <div <p> </p> <ul> <li> </ul> <table> </table> <td> <br> <blockquote> </blockquote> <gallery> </gallery>
    <pre> </pre> <span > {| |} |- || !! | ! -{ }- -{H| -{zh-cn: zh-tw: ; => '' ''' ''''' ' = == === : :: ; * # ---- __TOC__ __
    &nbsp; &nbsp &#1; &#10; &#x & < > / \ 1 1.5 a b
"""
TOKENS = WORDS.split()
NOT_XML = dict.fromkeys(set(range(32)) - {9, 10, 13})  # control characters that no dump can hold
GLUE = ["", "", "", " ", "\n", "\n\n", "|", "="]
LANGUAGES = [("", ""), ("zh", "zh-tw"), ("sr", "sr-el")]  # of the wiki and the variant; empty: the page's own
OPTIONS = [
    {"templates": on, "language": language, "variant": variant, "definition_lists": lists}
    for on, (language, variant), lists in itertools.product((False, True), LANGUAGES, ("drop", "keep"))
]

Options = dict[str, Any]
Pages = list[tuple[bytes, str]]


class TooSlow(Exception):
    """A case takes many times what is allowed."""


@dataclass
class Summary:
    """What has been tried and found."""

    cases: int = 0
    runs: int = 0
    bytes: int = 0
    slowest: float = 0.0  # seconds per megabyte, of large inputs
    slowest_case: int = -1
    failures: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        found = ", ".join(f"{kind} {count}" for kind, count in self.failures.most_common()) or "none"
        slow = f"slowest {self.slowest:.2f} s/MB (case {self.slowest_case})"
        return f"{self.cases} cases, {self.runs} runs, {self.bytes / 1e6:.0f} MB, {slow}; failures: {found}"


def main() -> int:
    """Fuzz for the minutes given and print what was found; return the exit code."""
    options = _options()
    pages = _read(options.pages)
    if not pages:
        print(f"no pages at {options.pages}: markup made at random only (--pages)", file=sys.stderr)
    signal.signal(signal.SIGPROF, _break_off)
    summary = Summary()
    numbers = itertools.count() if options.case is None else iter([options.case])
    begin = reported = time.monotonic()
    for number in numbers:
        now = time.monotonic()
        if options.case is None and now - begin >= 60 * options.minutes:
            break
        if now - reported >= 60:
            reported = now
            print(f"minute {(now - begin) / 60:.0f}: {summary}", flush=True)
        _try(number, options.seed, pages, options.save, summary)
    print(f"seed {options.seed}: {summary}")
    return 1 if summary.failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("minutes", type=float, help="how long to go on")
    add("--seed", type=int, default=1, help="other seeds give other cases  [default: 1]")
    add("--case", type=int, help="run this case alone")
    add("--pages", type=Path, default=PAGES, help="real pages  [default: ../shared/extraction/dev_pages.jsonl.xz]")
    add("--save", type=Path, default=SAVE, help=f"directory for failing cases  [default: {SAVE}]")
    return parser.parse_args()


def _read(path: Path) -> Pages:
    """Return the wikitext, as UTF-8, and the language of each page; nothing where there is no file."""
    if not path.is_file():
        return []
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        return [(page["wikitext"].encode(), page["language"]) for page in map(json.loads, lines)]


def _break_off(*_: object) -> None:
    raise TooSlow


# Making cases.


def _case(number: int, seed: int, pages: Pages) -> tuple[str, str]:
    """Return the text of a case, and the language it is in."""
    draw = random.Random(key(seed, "fuzz", number))
    data, language = draw.choice(pages) if pages else (b"", "en")
    kind = draw.random()
    if not data or kind < 0.2:
        data = _markup(draw, 400)
    elif kind < 0.75:
        data = _mutate(draw, data, pages)
    piece = data
    if draw.random() < 0.15:
        piece = _repeat(draw, _piece(draw, data, 200) if draw.random() < 0.5 else _markup(draw, 8))
    return piece.decode("utf-8", "replace").translate(NOT_XML), language


def _markup(draw: random.Random, most: int) -> bytes:
    """Put tokens together."""
    words = draw.choices(TOKENS, k=draw.randint(1, most))
    return "".join(word + draw.choice(GLUE) for word in words).encode()


def _piece(draw: random.Random, data: bytes, most: int) -> bytes:
    """Take a piece of some bytes, mostly one that begins with markup."""
    start = draw.randrange(len(data)) if data else 0
    if draw.random() < 0.7:
        start = max(start, data.find(draw.choice([b"{{", b"[[", b"<", b"''", b"{|", b"\n", b"|", b"&"]), start))
    return data[start : start + draw.randint(1, most)]


def _mutate(draw: random.Random, data: bytes, pages: Pages) -> bytes:
    """Damage a page in some places."""
    page = bytearray(data)
    for _ in range(draw.choice([1, 2, 4, 8, 16, 64])):
        at, length = draw.randrange(len(page) + 1), int(draw.paretovariate(0.7))
        edit = draw.choice(["flip", "delete", "double", "move", "splice", "token", "cut"])
        if edit == "flip" and at < len(page):
            page[at] ^= 1 << draw.randrange(8)
        elif edit == "delete":
            del page[at : at + length]
        elif edit == "double":
            page[at:at] = page[at : at + min(length, 5000)]
        elif edit == "move":
            page[at:at] = _piece(draw, bytes(page), 100)
        elif edit == "splice":
            page[at:at] = _piece(draw, draw.choice(pages)[0], 2000)
        elif edit == "token":
            page[at:at] = draw.choice(TOKENS).encode()
        elif draw.random() < 0.2:
            del page[at:]
    return bytes(page)


def _repeat(draw: random.Random, piece: bytes) -> bytes:
    """Repeat a piece, maybe with an end for each, up to a size between the timed and a megabyte."""
    end = _markup(draw, 2) if draw.random() < 0.4 else b""
    size = int(TIMED * (MEGABYTE / TIMED) ** draw.random())
    count = max(1, size // max(1, len(piece) + len(end)))
    return piece * count + end * count


# Judging them.


def _try(number: int, seed: int, pages: Pages, save: Path, summary: Summary) -> None:
    """Run a case and note what it does."""
    text, language = _case(number, seed, pages)
    size = len(text.encode())
    summary.cases += 1
    for options in OPTIONS if size < TIMED else [OPTIONS[number % len(OPTIONS)]]:
        options = {**options, "language": options["language"] or language}
        summary.runs += 1
        summary.bytes += size
        fault, pace = _judge(text, options)
        if pace > summary.slowest:
            summary.slowest, summary.slowest_case = pace, number
        if fault:
            summary.failures[fault] += 1
            if summary.failures[fault] <= SHOWN:
                _save(text, options, fault, save / f"seed-{seed}-case-{number}.txt")
            return


def _save(text: str, options: Options, fault: str, path: Path) -> None:
    """Make a failing text smaller, unless it is slow, which only large ones are; save and name it."""

    def fails(part: str) -> bool:
        return _judge(part, options)[0] == fault

    if fault != "too slow":
        text = _shrink(text, fails)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    print(f"{fault}: {options}: {len(text)} characters in {path}", flush=True)


def _judge(text: str, options: Options) -> tuple[str, float]:
    """Return what is wrong with a run, or nothing, and its seconds per megabyte (0 for small texts)."""
    size = len(text.encode())
    allowed = ALLOWED * size / MEGABYTE
    seconds = float("inf")
    for _ in range(3 if size >= TIMED else 1):
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, PATIENCE * max(allowed, 0.1))
        try:
            paragraphs = _extract(text, options)
        except TooSlow:
            return "too slow", PATIENCE * ALLOWED
        except Exception as error:
            return f"raised {type(error).__name__}", 0.0
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = min(seconds, time.process_time() - start)
        if seconds <= allowed / 2:
            break
    pace = seconds / size * MEGABYTE if size >= TIMED else 0.0
    if pace > ALLOWED:
        return "too slow", pace
    return _broken(paragraphs), pace


def _extract(text: str, options: Options) -> list[str]:
    templates = _table(options["language"]) if options["templates"] else None
    is_redirect(text, options["language"])
    is_disambiguation(text, options["language"])
    return extract_paragraphs(text, **{**options, "title": "Title", "templates": templates})


@functools.cache
def _table(language: str) -> Any:
    return load_templates(language)


def _broken(paragraphs: list[str]) -> str:
    """Say what is wrong with the paragraphs, if anything."""
    for paragraph in paragraphs:
        if "\n" in paragraph:
            return "a newline in a paragraph"
        if paragraph != paragraph.strip():
            return "a space at the edge of a paragraph"
        if any(char < " " for char in paragraph if char not in "\t"):
            return "a control character in a paragraph"
    return ""


def _shrink(text: str, fails: Callable[[str], bool]) -> str:
    """Leave out pieces, large ones first, as long as the rest still fails."""
    tries = TRIES
    length = len(text) // 2
    while length and tries > 0:
        for part in _without(text, length):
            tries -= 1
            if fails(part):
                text = part
                break
            if tries <= 0:
                break
        else:
            length //= 2
    return text


def _without(text: str, length: int) -> Iterator[str]:
    return (text[:start] + text[start + length :] for start in range(0, len(text), length))


if __name__ == "__main__":
    sys.exit(main())
