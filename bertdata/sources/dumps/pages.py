"""Cut the text of a part of a dump into pages, while it comes in and in bounded memory.

Two tags decide all: ``<page>`` begins a page, ``</page>`` ends it, both also with whitespace or attributes in them. In a
comment, a CDATA section or a processing instruction they are not tags, except for a ``<page>`` at the start of a line: there a
page begins whatever damage there is before it. The blocks may cut a tag:

>>> cutter = PageCutter(most=100, at_start=True)
>>> [*cutter.feed(b"<mediawiki><page>one</page><pa"), *cutter.feed(b"ge>two<page>three</page>")]
[RawPage(text=b'one</page>', reason=''), RawPage(text=b'two', reason='unended-page'), RawPage(text=b'three</page>', reason='')]
>>> list(cutter.finish())
[RawPage(text=b'', reason='truncated-dump')]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

__all__ = ["BEGIN", "OPEN", "PageCutter", "RawPage"]

OPEN, _CLOSE = b"<page>", b"</page>"
BEGIN = re.compile(rb"<page(?=[\s/>])")  # a page may begin here
_LONGEST_TAG = 4096  # bytes of a tag of a page; a dump's have no attributes
_MARK = re.compile(rb"<(?:/?page(?:[\s/][^<>]{0,%d})?>|!--|!\[CDATA\[|\?)" % (_LONGEST_TAG - 16))
_UNFINISHED = re.compile(rb"<(?:p(?:a(?:g(?:e(?:[\s/][^<>]*)?)?)?)?)?\Z")  # what may become a <page>
# Text in which no tag counts begins and ends so. A page at the start of a line, where MediaWiki writes every page, ends it too:
# otherwise a few damaged bytes that happen to begin a comment would hide all the pages behind them.
_HIDING = {
    begin: re.compile(rb"%s|\n[ \t]{0,16}(?=<page>)" % re.escape(end))
    for begin, end in ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
}
_LONGEST_END = 24  # bytes of such an end
_END = b"</mediawiki>"


class RawPage(NamedTuple):
    """What follows a ``<page>``: up to and with its ``</page>``, or else as far as it goes and a `reason` to reject it."""

    text: bytes
    reason: str


class _State(Enum):
    """Where the text read so far ends."""

    BETWEEN = "between pages: a </page> that comes now has lost its <page>"
    PAGE = "in a page of this part"
    NAMED = "in a page of this part that was too large and has left as such"
    FOREIGN = "in what may be the end of a page that began in an earlier part, or in bytes that are lost"
    PAST = "behind the last page of this part"


class PageCutter:
    """Cut text that comes block by block into pages; `most` bytes of a page are held, `at_start` tells of a file's first part.

    The invariant: `_rest` is the text behind the last tag seen, and `_searched` of its bytes hold none.  So each tag is seen
    once; each ``<page>`` before the border sets PAGE, and PAGE is only left by giving that page away, whole or with a reason.
    A tag belongs to the part in which it begins (the next part sees the rest of it, which is no tag), but for the ``</page>`` of
    an open page, which is fetched from beyond the border; there the next part is FOREIGN and passes over it.  A part that begins
    in a comment cannot know: no dump of MediaWiki has one.
    """

    def __init__(self, most: int, at_start: bool) -> None:
        self._most = most
        self._state = _State.BETWEEN if at_start else _State.FOREIGN
        self._rest = bytearray()  # grows in place: a long page that comes in many blocks is not copied for each
        self._at = 0  # where in the text `_rest` begins
        self._searched = 0  # bytes of `_rest` in which there is no tag to be found
        self._until: re.Pattern[bytes] | None = None  # what ends the comment or the like that the text is in
        self._border = sys.maxsize  # where in the text the next part begins

    @property
    def past(self) -> bool:
        """Tell that no text to come can hold anything of this part."""
        return self._state is _State.PAST

    def border(self) -> None:
        """Note, once or again, that the text to come belongs to the next part."""
        self._border = min(self._border, self._at + len(self._rest))
        self._stop_at_border()

    def feed(self, data: bytes) -> Iterator[RawPage]:
        """Take more text; give the pages that end in it."""
        self._rest += data
        begin = 0
        for tag in self._tags():
            text = tag.group()
            opens = text[1:2] != b"/"
            if opens and self._state is _State.PAGE:
                yield RawPage(bytes(self._rest[begin : tag.start()]), "unended-page")
            elif not opens and self._state in (_State.PAGE, _State.BETWEEN):
                yield RawPage(bytes(self._rest[begin : tag.end()]), "too-large" if tag.end() - begin > self._most else "")
            if self._at + tag.start() >= self._border:  # the next part reads on from this tag
                self._state = _State.PAST
                return
            self._state, begin = _State.PAGE if opens else _State.BETWEEN, tag.end()
            if text.endswith(b"/>") and opens:  # begins and ends
                yield RawPage(_CLOSE, "")
                self._state = _State.BETWEEN
        self._pass(begin)
        if len(self._rest) > self._most:
            if self._state is _State.PAGE:
                yield RawPage(bytes(self._rest), "too-large")
                self._state = _State.NAMED
            self._pass(max(0, len(self._rest) - _LONGEST_TAG))
        self._stop_at_border()

    def _tags(self) -> Iterator[re.Match[bytes]]:
        """Find the tags of pages in what was not searched yet, but for those in comments and the like."""
        while True:
            if self._until:
                if (end := self._until.search(self._rest, self._searched)) is None:
                    self._searched = max(self._searched, len(self._rest) - _LONGEST_END)
                    return
                self._searched, self._until = end.end(), None
            if (mark := _MARK.search(self._rest, self._searched)) is None:
                self._searched = max(self._searched, len(self._rest) - _LONGEST_TAG)
                return
            self._searched = mark.end()
            self._until = _HIDING.get(mark.group())
            if not self._until:
                yield mark

    def lose(self) -> bytes:
        """Note that bytes are lost here; give what there is of the page that they break, if that is not named elsewhere."""
        broken = bytes(self._rest) if self._state in (_State.PAGE, _State.BETWEEN) else b""
        self._pass(len(self._rest))
        self._state, self._until = _State.FOREIGN, None
        return broken

    def finish(self) -> Iterator[RawPage]:
        """Note that the file ends here; give what lacks its end.  A FOREIGN page is reported by the part in which it began."""
        if self._state is _State.PAGE:
            yield RawPage(bytes(self._rest), "truncated-page")
        elif self._until or (self._state in (_State.BETWEEN, _State.NAMED) and _END not in self._rest):
            yield RawPage(b"", "truncated-dump")

    def _pass(self, count: int) -> None:
        """Leave so many bytes of `_rest` behind."""
        del self._rest[:count]
        self._at += count
        self._searched = max(0, self._searched - count)

    def _stop_at_border(self) -> None:
        """Be PAST at the border, unless a page, or maybe the tag that opens one, is unfinished."""
        unfinished = self._state is _State.PAGE or _UNFINISHED.search(
            self._rest, max(self._searched, len(self._rest) - _LONGEST_TAG)
        )
        if self._at + len(self._rest) >= self._border and not unfinished:
            self._state = _State.PAST
