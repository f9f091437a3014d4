"""Split Thai text, which has no full stop: spaces separate sentences and clauses, and surround numbers and foreign words.

Text is only cut at a space between clauses: full stops ("พ.ศ.") end nothing, and no word is cut.  Thai does not mark the
difference between clauses and sentences.  A cut needs a clause before the space and one after it that does not begin with a word
that continues the sentence.

    >>> list(ends("เขาเดินทางไปถึงเชียงใหม่เมื่อวานนี้ เธออยู่ที่กรุงเทพฯ กับครอบครัวตั้งแต่เกิด"))
    [36, 77]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LANGUAGES = frozenset(("th",))
WRITTEN = re.compile("[ก-๎]")  # a Thai letter or sign
_SPACE = re.compile(r"\s+")
_MARKED = re.compile(r"[!?…。][\"”’)\]]*$")
_CLOSED = re.compile('[ก-๎ๆฯ]["”’)]*$')
_CLAUSE = re.compile(  # a run of letters, not a word of a list, that does not carry the sentence on
    '["“‘(]?(?!และ|หรือ|ซึ่ง|ที่|เกี่ยวกับ|ผู้|โดย|เพื่อ|ว่า|ของ|จาก|กับ|เพราะ|เนื่องจาก|จน|ทั้ง|รวม|เช่น|คือ|อัน|ก่อน|หลัง|แล้ว|ได้แก่|มี|เป็น|ให้|จึง|ก็|ด้วย|ตาม|สำหรับ|จะ|ไม่|ถึง|อยู่|ส่วน|พร้อม)[ก-๎]{12}'
)
_LEADS_ON = re.compile('(?:คือ|ได้แก่|เช่น|ว่า|ชื่อ|และ|หรือ|ของ|ที่|โดย|ใน|จาก|กับ|เป็น|แก่|ต่อ|เมื่อ|หาก|ถ้า|แม้|นาย|นาง|ดร)["”’)]*$')
_MIN_CUT_CHARS = 30  # characters before a cut; a name or a heading is shorter than most clauses


def ends(text: str, language: str = "th") -> Iterator[int]:
    """Yield where a Thai paragraph is cut, in order, the last one its end."""
    start = 0
    for space in _SPACE.finditer(text):
        at = space.start()
        marked = _MARKED.search(text, max(start, at - 4), at)
        # A space is a cut if the text before it is long enough for a clause, ends with a Thai
        # letter and not with a word that needs a continuation, and a clause follows. When in doubt,
        # don't cut: a long sentence does less harm than half a one.
        if marked or (
            at - start >= _MIN_CUT_CHARS
            and _CLOSED.search(text, max(start, at - 4), at)
            and _CLAUSE.match(text, space.end())
            and not _LEADS_ON.search(text, max(start, at - 12), at)
        ):
            yield space.end()
            start = space.end()
    yield len(text)
