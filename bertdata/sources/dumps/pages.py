"""Cut the text of a file range of a dump into pages, incrementally and in bounded memory.

``<page>`` begins a page and ``</page>`` ends it; both may contain whitespace or attributes. In a comment, a CDATA section or a
processing instruction they are not tags, except a ``<page>`` at the start of a line: a page always begins there, whatever
damage comes before it. Input blocks may split a tag:

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
_MAX_TAG_BYTES = 4096  # maximum bytes of a page tag; those of real dumps have no attributes
_MARK = re.compile(rb"<(?:/?page(?:[\s/][^<>]{0,%d})?>|!--|!\[CDATA\[|\?)" % (_MAX_TAG_BYTES - 16))
_UNFINISHED = re.compile(rb"<(?:p(?:a(?:g(?:e(?:[\s/][^<>]*)?)?)?)?)?\Z")  # possible start of a <page>
# Start and end of text in which tags do not count. A page at the start of a line, where MediaWiki writes all pages, also ends it:
# otherwise a few damaged bytes that look like the start of a comment would hide all later pages.
_HIDING = {
    begin: re.compile(rb"%s|\n[ \t]{0,16}(?=<page>)" % re.escape(end))
    for begin, end in ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))
}
_MAX_END_BYTES = 24  # maximum bytes of such an end
_END_TAG = b"</mediawiki>"


class RawPage(NamedTuple):
    """The text after a ``<page>``, up to and including its ``</page>``, or up to where it breaks with a `reason` to reject it."""

    text: bytes
    reason: str


class _State(Enum):
    """State at the end of the text read so far."""

    BETWEEN = "between pages: a </page> that comes now has lost its <page>"
    PAGE = "in a page of this part"
    NAMED = "in a page of this part that was too large and has left as such"
    FOREIGN = "in what may be the end of a page that began in an earlier part, or in bytes that are lost"
    PAST = "behind the last page of this part"


class PageCutter:
    """Cut incoming text into pages; `most` is the maximum bytes kept of a page, `at_start` is True for a file's first range.

    Invariant: `_rest` is the text after the last tag, and its first `_searched` bytes contain no tag.  So each tag is seen once;
    each ``<page>`` before the border sets PAGE, and PAGE ends only by yielding that page, complete or with a reason.
    A tag belongs to the range in which it begins (the next range sees only its rest, which is not a tag).  The exception is the
    ``</page>`` of an open page, which is read from beyond the border; there the next range is FOREIGN and skips it.  A range that
    begins in a comment cannot be detected, but no MediaWiki dump has comments.
    """

    def __init__(self, most: int, at_start: bool) -> None:
        self._most = most
        self._state = _State.BETWEEN if at_start else _State.FOREIGN
        self._rest = bytearray()  # grows in place: a long page in many blocks is not copied for each block
        self._at = 0  # offset of `_rest` in the text
        self._searched = 0  # bytes of `_rest` already searched for tags
        self._until: re.Pattern[bytes] | None = None  # end of the current comment or similar section
        self._border = sys.maxsize  # offset in the text where the next range begins

    @property
    def past(self) -> bool:
        """Return True if later text cannot contain anything of this range."""
        return self._state is _State.PAST

    def border(self) -> None:
        """Mark that later text belongs to the next range; can be called repeatedly."""
        self._border = min(self._border, self._at + len(self._rest))
        self._stop_at_border()

    def feed(self, data: bytes) -> Iterator[RawPage]:
        """Add text; yield the pages that end in it."""
        self._rest += data
        # `begin` is the end of the last tag. The states, by what the next tag is:
        #
        #   state      <page>                                  </page>
        #   BETWEEN    -> PAGE                                 yield the text so far (its <page> is lost); stay
        #   PAGE       reject the open page; -> PAGE           yield the page; -> BETWEEN
        #   FOREIGN    -> PAGE                                 -> BETWEEN (the range before yields it)
        begin = 0
        for tag in self._tags():
            text = tag.group()
            opens = text[1:2] != b"/"
            if opens and self._state is _State.PAGE:
                yield RawPage(bytes(self._rest[begin : tag.start()]), "unended-page")
            elif not opens and self._state in (_State.PAGE, _State.BETWEEN):
                yield RawPage(bytes(self._rest[begin : tag.end()]), "too-large" if tag.end() - begin > self._most else "")
            if self._at + tag.start() >= self._border:  # the next range continues from this tag
                self._state = _State.PAST
                return
            self._state, begin = _State.PAGE if opens else _State.BETWEEN, tag.end()
            if text.endswith(b"/>") and opens:  # an empty page
                yield RawPage(_CLOSE, "")
                self._state = _State.BETWEEN
        self._pass(begin)
        # A page that is larger than allowed is reported as soon as the limit is reached, so that
        # memory stays bounded, and its remaining text is skipped. Keep a tag's length of bytes,
        # because the end of the text may be the beginning of a tag.
        if len(self._rest) > self._most:
            if self._state is _State.PAGE:
                yield RawPage(bytes(self._rest), "too-large")
                self._state = _State.NAMED
            self._pass(max(0, len(self._rest) - _MAX_TAG_BYTES))
        self._stop_at_border()

    def _tags(self) -> Iterator[re.Match[bytes]]:
        """Find page tags in the unsearched text, except those in comments and similar sections."""
        while True:
            # Inside of a comment: skip to its end. If the end is not in the text yet, continue with
            # the next block, from where the end may begin.
            if self._until:
                if (end := self._until.search(self._rest, self._searched)) is None:
                    self._searched = max(self._searched, len(self._rest) - _MAX_END_BYTES)
                    return
                self._searched, self._until = end.end(), None
            if (mark := _MARK.search(self._rest, self._searched)) is None:
                self._searched = max(self._searched, len(self._rest) - _MAX_TAG_BYTES)
                return
            self._searched = mark.end()
            self._until = _HIDING.get(mark.group())
            if not self._until:
                yield mark

    def lose(self) -> bytes:
        """Mark that bytes are missing here; return the page that this breaks, unless it is reported elsewhere."""
        broken = bytes(self._rest) if self._state in (_State.PAGE, _State.BETWEEN) else b""
        self._pass(len(self._rest))
        self._state, self._until = _State.FOREIGN, None
        return broken

    def finish(self) -> Iterator[RawPage]:
        """Mark the end of the file; yield a page without its end.  The range in which a FOREIGN page began reports it."""
        if self._state is _State.PAGE:
            yield RawPage(bytes(self._rest), "truncated-page")
        elif self._until or (self._state in (_State.BETWEEN, _State.NAMED) and _END_TAG not in self._rest):
            yield RawPage(b"", "truncated-dump")

    def _pass(self, count: int) -> None:
        """Drop the first `count` bytes of `_rest`."""
        del self._rest[:count]
        self._at += count
        self._searched = max(0, self._searched - count)

    def _stop_at_border(self) -> None:
        """Set PAST at the border, unless a page, or a tag that may open one, is unfinished."""
        unfinished = self._state is _State.PAGE or _UNFINISHED.search(
            self._rest, max(self._searched, len(self._rest) - _MAX_TAG_BYTES)
        )
        if self._at + len(self._rest) >= self._border and not unfinished:
            self._state = _State.PAST
