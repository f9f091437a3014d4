"""Drop all but running text from plain files: lists and tables, and from Markdown also headings, code and link targets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

_MAY_HAVE_LISTS = re.compile(r"^[ \t]*(?:[-*+] |[•·‣◦▪●○■□・]|\(?[\da-zA-Z]{1,3}[.)][ \t]|\|)|-\|-", re.MULTILINE)
_ITEM = re.compile(r"[ \t]*(?:(?P<bullet>[-*+](?=[ \t])|[•·‣◦▪●○■□・])|\(?(?P<number>\d{1,3}|[a-zA-Z])[.)](?=[ \t]))[ \t]*(?=\S)")
_MIN_ITEMS = 3
_MAX_ITEM_CHARACTERS = 120  # mean of a list
_MAX_LIST_SHARE = 0.5  # of a text; dialogue, verses and minutes of meetings have more lines that look like items
_SPOKEN = re.compile(r"[.?!…,:»”\"'’]\s*$|[?!…]|^\W*[\"“„«¿¡]")
_TABLE_RULE = re.compile(r"\|?:?-+:?(?:\|:?-+:?)+\|?")  # without spaces
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")


def drop_lists(text: str, dropped: Counter[str]) -> str:
    r"""Drop the lists and pipe tables of a plain text where they are clearly that, and count their lines by kind in `dropped`.

    A list has three short items or more. Dashes also begin the lines of dialogue, so a list with dashes has no sentences.

    >>> drop_lists("We need these things for tea:\n\n* a kettle\n* a cup\n* tea\n\nIt takes an hour.", Counter())
    'We need these things for tea:\n\n\nIt takes an hour.'
    """
    if not _MAY_HAVE_LISTS.search(text):
        return text
    lines = text.split("\n")
    kinds: dict[int, str] = {}  # by the number of each line to drop
    for run in _item_runs(lines):
        if _is_list([lines[at] for at in run]):
            kinds.update(dict.fromkeys(run, "lists"))
    if sum(len(lines[at]) for at in kinds) > _MAX_LIST_SHARE * len(text):
        kinds.clear()
    kinds.update(dict.fromkeys(_table_rows(lines), "tables"))
    dropped.update(kinds.values())
    return "\n".join(line for at, line in enumerate(lines) if at not in kinds)


def _item_runs(lines: list[str]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of consecutive items with the same bullet, or that count on. One blank line may part two."""
    run: list[int] = []
    last = ""
    blank = 0
    for at, line in enumerate(lines):
        if not line or line.isspace():
            blank += 1
            continue
        item = _ITEM.match(line)
        if run and not item and not blank and line[:2].isspace():  # an item goes on
            run.append(at)
            continue
        mark = (item["bullet"] or item["number"]) if item else ""
        follows = mark == last if item and item["bullet"] else bool(last) and _next(last) == mark
        if run and not (mark and follows and blank < 2):
            yield run
            run = []
        if mark:
            run.append(at)
        last, blank = mark, 0
    if run:
        yield run


def _next(mark: str) -> str:
    """Return the number or letter after one, "" for a bullet."""
    return str(int(mark) + 1) if mark.isdigit() else chr(ord(mark) + 1) if mark.isalpha() else ""


def _is_list(items: list[str]) -> bool:
    texts = [item[mark.end() :] for item in items if (mark := _ITEM.match(item))]
    if len(texts) < _MIN_ITEMS or sum(map(len, items)) > _MAX_ITEM_CHARACTERS * len(texts):
        return False
    return not items[0].lstrip().startswith("-") or not any(map(_SPOKEN.search, texts))


def _table_rows(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines of pipe tables: rows with bars at both ends, or around a line of dashes and bars."""
    at = 0
    while at < len(lines):
        first = at
        while at < len(lines) and "|" in lines[at]:
            at += 1
        rows = lines[first:at]
        if len(rows) > 1 and (all(map(_ROW.fullmatch, rows)) or any(_TABLE_RULE.fullmatch("".join(row.split())) for row in rows)):
            yield from range(first, at)
        at += 1


# --- Markdown ---

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_MARKDOWN_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?=\S)")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]]{1,200}\]:")
_QUOTE = re.compile(r"^ {0,3}>+[ \t]?")
_FRONT = re.compile(r"[ \t]*(---|\+\+\+)[ \t]*\n(?:.*\n){0,198}?[ \t]*\1[ \t]*(?:\n|\Z)")  # metadata at the beginning
_INLINE = [  # the shown part of each kind of markup
    (re.compile(r"!\[[^\[\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), ""),  # a picture
    (re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"), r"\1"),  # a link of a wiki
    (re.compile(r"\[\^[^\[\]]*\]"), ""),  # the mark of a note
    (re.compile(r"\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), r"\1"),  # a link
    (re.compile(r"<(?:https?|ftp|mailto):[^<>\s]*>"), ""),
    (re.compile(r"</?[a-zA-Z][^<>\n]*>"), ""),
    (re.compile(r"(`{1,3})([^`\n]+)\1"), r"\2"),
    *[(re.compile(r"(?<!\\)(\*{1,3}|~~)(?=[^\s*~])([^*~]{1,1000})(?<=[^\s*~])\1"), r"\2")] * 2,  # may be nested
    *[(re.compile(r"(?<![\w\\])(_{1,3})(?=[^\s_])([^_]{1,1000})(?<=[^\s_])\1(?!\w)"), r"\2")] * 2,
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])"), r"\1"),
]


def drop_markdown(text: str, dropped: Counter[str]) -> str:
    r"""Return the paragraphs of a Markdown text as plain text, and count the lines of everything else by kind in `dropped`.

    >>> drop_markdown("# Tea\n\nA [kettle](https://example.org) *sings*.\n\n- one\n- two\n", Counter())
    '\n\nA kettle sings.\n\n\n\n'
    """
    for opening, closing in (("<!--", "-->"), ("<table", "</table>"), ("<style", "</style>"), ("<script", "</script>")):
        text = _without(text, opening, closing)
    lines = [_QUOTE.sub("", line) for line in text.split("\n")]
    kinds = [""] * len(lines)
    front = _FRONT.match(text)
    at = front[0].count("\n") if front else 0
    kinds[:at] = ["metadata"] * at
    ends = {
        mark: [n for n, line in enumerate(lines) if mark in line and not line.strip(f"{mark[0]} \t")] for mark in ("```", "~~~")
    }
    while at < len(lines):
        line, before = lines[at], kinds[at - 1] if at else "blank"
        if fence := _FENCE.match(line):
            after = ends[fence[1][:3]]
            place = bisect_right(after, at)
            end = after[place] if place < len(after) else at
            kinds[at : end + 1] = ["code"] * (end + 1 - at)
            at = end
        elif not line.strip():
            kinds[at] = "list gap" if before in ("lists", "list gap") else "blank"
        elif _HEADING.match(line):
            kinds[at] = "headings"
        elif at and before == "" and _UNDERLINE.fullmatch(line):
            is_heading = len(lines[at - 1]) <= _MAX_ITEM_CHARACTERS and (at == 1 or kinds[at - 2] != "")
            kinds[at - is_heading : at + 1] = ["headings"] * (1 + is_heading)
        elif _BREAK.fullmatch(line) or _DEFINITION.match(line):
            kinds[at] = "notes and targets"
        elif _MARKDOWN_ITEM.match(line) or before == "lists" or (before == "list gap" and line[:2].isspace()):
            kinds[at] = "lists"
        elif before not in ("", "lists") and line.startswith(("    ", "\t")):
            kinds[at] = "code"
        at += 1
    for row in _table_rows([line if kind == "" else "" for line, kind in zip(lines, kinds, strict=True)]):
        kinds[row] = "tables"
    dropped.update(kind for kind in kinds if kind not in ("", "blank", "list gap"))
    shown = "\n".join("" if kind else line for line, kind in zip(lines, kinds, strict=True))
    for pattern, replacement in _INLINE:
        shown = pattern.sub(replacement, shown)
    return shown


def _without(text: str, begin: str, end: str) -> str:
    """Remove the text between two marks; one without an end is text."""
    first, *parts = text.split(begin)
    return first + "".join(part.partition(end)[2] if end in part else begin + part for part in parts)
