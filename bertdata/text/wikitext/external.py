"""External links: keep the label and drop the address; a link without a label is a footnote mark and is dropped.

>>> drop_addresses("see [https://x.org the ''site''] or [//x.org], a[0] and http://y.org")
"see the ''site'' or \\x1f, a[0] and http://y.org"
"""

import re

from .marks import VANISHED

_SCHEMES = """(?:https?|ftps?|sftp|irc|ircs|gopher|telnet|nntp|worldwind|svn|git|mms|ssh|redis)://|//
    |(?:mailto|news|tel|sip|sips|sms|xmpp|bitcoin|magnet|urn|geo):""".replace("\n", "").replace(" ", "")
_CHARACTER = r"[^\[\]<>\"\x00-\x20\x7f\u00a0\u3000]"
_ADDRESS = _CHARACTER + "+"
_LINK = re.compile(rf"\[(?:{_SCHEMES}){_ADDRESS}[ \t\u00a0\u3000]*([^\]\n]*)\]", re.IGNORECASE)


_ITALIC_LABEL = re.compile(rf"(\[(?:{_SCHEMES})(?:(?!''){_CHARACTER})+)(?='')", re.IGNORECASE)


def part_labels(line: str) -> str:
    """Put a space between an address and a label in italics or bold, because its apostrophes end the address.

    >>> part_labels("see [//x.org''Title''] here")
    "see [//x.org ''Title''] here"
    """
    return _ITALIC_LABEL.sub(r"\1 ", line)


def drop_addresses(line: str) -> str:
    """Replace ``[address label]`` in ``line`` with its label."""
    end = line.rfind("]") + 1  # skip brackets that are never closed, which are slow to match
    return _LINK.sub(lambda link: link[1] or VANISHED, line[:end]) + line[end:]
