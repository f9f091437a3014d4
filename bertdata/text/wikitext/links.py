"""Replace links with their labels; drop files, categories and links to other languages.

    >>> resolve_links("see [[Foo (bar)|]], [[Baz|qux]]s [[Category:X]]") == "see Foo, quxs" + AWAY
    True
    >>> resolve_links("[[File:x.jpg|thumb|a [[b]]]] c") == VANISHED + " c"
    True

For an unclosed link, remove the brackets and keep the text; for a file, keep its caption:

    >>> resolve_links("a [[b|c d"), resolve_links("[[File:x.jpg|thumb|A house. More")
    ('a c d', 'A house. More')
"""

import re
from collections.abc import Mapping

from .marks import AWAY, FOOTNOTE, VANISHED, as_text, shield
from .namespaces import CATEGORY, FILE, namespace
from .quotes import drop_quotes

# Most links: [[target]] or [[target|label]] without a colon, quotes or marks.  `split` alternates text and labels:
# "see [[Foo|foo]] and [[bar]]." is split into "see ", "foo", " and ", "bar" and ".", which are joined again.  `_words` handles a
# label whose first character would make a list or a preformatted line, and shields it.
_PLAIN = re.compile(rf"\[(?:\[[^\[\]|:\n]*\||\[)([^\[\]|:'\n{VANISHED}{FOOTNOTE} *#;=!-][^\[\]|:'\n{VANISHED}{FOOTNOTE}]*)\]\]")
_OPENING = re.compile(r"\[(?=\[)\[(?:([^\[\]]*)\]\]|\[*)")  # one literal character, then a look-ahead: faster than two literals
_ADDRESSES = ("http://", "https://")
_CLOSING = re.compile(r"\]\]+")


def _trick(target: str) -> str:
    """Return the implied label of ``[[target|]]``."""
    name = target.rpartition(":")[2].strip()
    bracket = max(name.rfind("("), name.rfind("（"), 0)
    short = name[:bracket] if name.endswith((")", "）")) else name.partition(", ")[0]
    return short.strip() or name


def _words(content: str, names: Mapping[str, int] | None = None) -> str | None:
    """Return the words of ``[[content]]``, a mark for a file, or None for a category, which removes the space before it."""
    target, bar, label = content.partition("|")
    if ":" in target:
        kind = namespace(target, names)
        # An image leaves a mark: the reader sees it between the words. A category or a link to another language is not
        # there at all, so its line must vanish too (None).
        if kind == FILE:
            return VANISHED
        if kind == CATEGORY or (kind is not None and not bar):
            return None
        target = target.removeprefix(":")
    if not bar:
        if target.startswith(_ADDRESSES):
            return f"[{target}]"  # [[https://x.org label]] is an external link
        return shield(target) if "''" in target else as_text(target)
    if "''" in label:
        label = drop_quotes(label)
    return as_text(label) if label.strip() else _trick(target)


class _Links:
    """Resolves the links of a page: ``parts`` is the text so far, ``open`` the indexes in ``parts`` of each unclosed ``[[``.

    An unclosed ``[[`` is followed by one or more parts: in "[[File:a.jpg|thumb|b [[c:d]] e]]" the first ``]]`` closes the inner
    link.  A ``]]`` that closes no link may close brackets in the text or an external link, so it stays.
    """

    def __init__(self, names: Mapping[str, int] | None = None) -> None:
        self.names = names
        self.parts: list[str] = []
        self.open: list[int] = []

    def text(self, text: str) -> None:
        """Add text without opening brackets; closing brackets in it close open links."""
        done = 0
        if "]" in text:
            for match in _CLOSING.finditer(text):
                self.parts.append(text[done : match.start()])
                done = match.end()
                self.close(done - match.start())
        self.parts.append(text[done:])

    def add(self, content: str) -> None:
        """Add a link that contains no other link."""
        words = _words(content, self.names)
        if words is None:
            self.away()
        else:
            self.parts.append(words)

    def away(self) -> None:
        """Add the mark of an invisible link.

        Categories are on separate lines: remove the line break before such a link too, so that no blank line remains.
        """
        parts = self.parts
        # "Text.\n[[Category:A]]\n[[Category:B]]": cut the line break before the first one, and put a single mark for both.
        before = parts[-1].rstrip()
        if not before and len(parts) > 1 and parts[-2] == AWAY:
            parts[-1] = ""
        else:
            parts[-1] = before if before == parts[-1] else parts[-1].rstrip(" ")
            parts.append(AWAY)

    def close(self, count: int) -> None:
        """Match ``count`` closing brackets with open links."""
        parts = self.parts
        # Closing brackets belong to the link opened last. In "[[File:a.jpg|b [[c]]]]" the first two close [[c]], and the next
        # two the file with its caption.
        while count >= 2 and self.open:
            if count == 3 and parts[-1].rfind("[") > parts[-1].rfind("]"):
                parts[-1] += "]"  # [[target|[label]]]
                count = 2
            index = self.open.pop()
            # The text after the "[[" is one piece, so nothing was nested: a plain link. More pieces mean that links inside it
            # are resolved already, and only the target and the label must be separated.
            if len(parts) == index + 2:
                content = parts.pop()
                parts[index] = ""
                self.add(content)
            else:
                self.close_nested(index)
            count -= 2
        parts.append("]" * count)

    def close_nested(self, index: int) -> None:
        """Close a link that contains others: drop a file with its caption; keep the label of anything else."""
        parts = self.parts
        # The target ends at the first bar, which is before any nested link: only the first piece can hold it.
        target, bar, label = parts[index + 1].partition("|")
        if ":" in target and namespace(target, self.names) in (FILE, CATEGORY):
            parts[index:] = [VANISHED]
        else:
            parts[index] = ""
            parts[index + 1] = as_text(label if bar else target)

    def finish(self) -> str:
        """Return the text; for an unclosed link, drop the target; for an unclosed file, keep only a possible caption."""
        parts = self.parts
        for index in self.open:
            parts[index] = ""
            line, newline, rest = parts[index + 1].partition("\n")
            target, bar, label = line.partition("|")
            if bar and ":" in target and namespace(target, self.names) == FILE:
                caption = label.rpartition("|")[2].strip()
                parts[index + 1] = (as_text(caption) if " " in caption else "") + newline + rest
            elif bar:
                parts[index + 1] = as_text(label) + newline + rest
        return "".join(parts)


def resolve_links(text: str, names: Mapping[str, int] | None = None) -> str:
    """Replace each link in ``text`` with its words."""
    if "[[" not in text and "]]" not in text:
        return text
    text = "".join(_PLAIN.split(text))
    links = _Links(names)
    parts = links.parts
    done = 0
    for match in _OPENING.finditer(text):
        start, end = match.span()
        links.text(text[done:start])
        done = end
        content = match[1]
        if content is not None:
            links.add(content)
        else:
            parts.append(text[start + 2 : end])
            links.open.append(len(parts))
            parts.append("[[")
    links.text(text[done:])
    return links.finish()
