"""Drop all but running text from plain files: lists and tables, and from Markdown also headings, code and link targets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

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
    lines = text.split("\n")
    listed = [at for run in _item_runs(lines) if _is_list([lines[at] for at in run]) for at in run]
    if sum(len(lines[at]) for at in listed) > _MAX_LIST_SHARE * len(text):
        listed = []
    kinds = {**dict.fromkeys(listed, "lists"), **dict.fromkeys(_table_rows(lines), "tables")}
    dropped.update(kinds.values())
    return "\n".join(line for at, line in enumerate(lines) if at not in kinds) if kinds else text


def _item_runs(lines: list[str]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of consecutive items with the same bullet, or that count on. One blank line may part two."""
    run: list[int] = []
    mark, blank = "", 0
    for at, line in enumerate([*lines, "end"]):
        if not line or line.isspace():
            blank += 1
            continue
        item = _ITEM.match(line)
        if run and not item and not blank and line[:2].isspace():  # an item goes on
            run.append(at)
            continue
        follower = str(int(mark) + 1) if mark.isdigit() else chr(ord(mark) + 1) if mark.isalpha() else mark
        mark = (item["bullet"] or item["number"]) if item else ""
        if run and (mark != follower or blank > 1):
            yield run
            run = []
        if mark:
            run.append(at)
        blank = 0


def _is_list(items: list[str]) -> bool:
    texts = [item[mark.end() :] for item in items if (mark := _ITEM.match(item))]
    if len(texts) < _MIN_ITEMS or sum(map(len, items)) > _MAX_ITEM_CHARACTERS * len(texts):
        return False
    return not items[0].lstrip().startswith("-") or not any(map(_SPOKEN.search, texts))


def _table_rows(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines of pipe tables: rows with bars at both ends, or around a line of dashes and bars."""
    for has_bar, group in groupby(range(len(lines)), lambda at: "|" in lines[at]):
        numbers = [*group] if has_bar else []
        rows = [lines[at] for at in numbers]
        if len(rows) > 1 and (all(map(_ROW.fullmatch, rows)) or any(_TABLE_RULE.fullmatch("".join(row.split())) for row in rows)):
            yield from numbers


# --- Markdown ---

_FENCE, _FENCE_END = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})"), re.compile(r"\s*(`{3,}|~{3,})\s*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_BLOCK = re.compile(  # the beginning of a line, by its kind
    r" {0,3}(?P<headings>#{1,6}(?:[ \t]|$))"
    r"| {0,3}(?P<targets>\[[^\[\]]{1,200}\]:|(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$)"
    r"|(?P<lists>[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?=\S))"
)
_QUOTE = re.compile(r"^ {0,3}>+[ \t]?")
_FRONT = re.compile(r"[ \t]*(---|\+\+\+)[ \t]*\n(?=.*\S)(?:.*\n){0,198}?[ \t]*\1[ \t]*(?:\n|\Z)")  # metadata at the beginning
_INLINE = [  # the shown part of each kind of markup
    (re.compile(r"!\[[^\[\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), ""),  # a picture
    (re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"), r"\1"),  # a link of a wiki
    (re.compile(r"\[\^[^\[\]]*\]"), ""),  # the mark of a note
    (re.compile(r"\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"), r"\1"),  # a link
    (re.compile(r"</?[a-zA-Z][^<>\n]*>"), ""),  # a tag or an address
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
        parts = text.split(opening)
        for at, part in enumerate(parts[1:]):  # one without an end, or in code, is text
            is_text = parts[at].endswith("`") or closing not in part
            parts[at + 1] = opening + part if is_text else part.partition(closing)[2]
        text = "".join(parts)
    lines = [_QUOTE.sub("", line) for line in text.split("\n")]
    front = _FRONT.match(text)
    metadata = front[0].count("\n") if front else 0
    ends = {end[1][:9]: at for at, line in enumerate(lines) if (end := _FENCE_END.fullmatch(line))}  # the last of each mark
    kinds: list[str] = []
    kind, fence = "blank", ""
    for at, line in enumerate(lines):
        if at < metadata:
            kind = "metadata"
        elif fence:
            kind, end = "code", _FENCE_END.fullmatch(line)
            fence = "" if end and end[1].startswith(fence) else fence
        elif mark := _FENCE.match(line):
            kind, fence = "code", mark[1][:9]
            fence *= any(last > at for end_mark, last in ends.items() if end_mark.startswith(fence))
        elif not line.strip():
            kind = "list gap" if kind in ("lists", "list gap") else "blank"
        elif kind == "" and _UNDERLINE.fullmatch(line):
            if len(lines[at - 1]) <= _MAX_ITEM_CHARACTERS and (at == 1 or kinds[at - 2] != ""):
                kinds[at - 1] = "headings"
            kind = "headings"
        elif block := _BLOCK.match(line):
            kind = str(block.lastgroup).replace("targets", "notes and targets")
        elif kind == "lists" or (kind == "list gap" and line[:2].isspace()):
            kind = "lists"
        else:
            kind = "code" if kind and line.startswith(("    ", "\t")) else ""
        kinds.append(kind)
    for row in _table_rows([line if kind == "" else "" for line, kind in zip(lines, kinds, strict=True)]):
        kinds[row] = "tables"
    dropped.update(kind for kind in kinds if kind not in ("", "blank", "list gap"))
    shown = "\n".join("" if kind else line for line, kind in zip(lines, kinds, strict=True))
    for pattern, replacement in _INLINE:
        shown = pattern.sub(replacement, shown)
    return shown
