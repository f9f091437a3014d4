"""Remember the ids of parts of text, and ask `tokenizers` for new ones: many in one text, as it takes its time over each text.

The first part of a text may be tokenized in another way, so all others are asked for behind a letter.  The pieces of the
answer, written out, tell which of them are whose:

    asked      a| tea|.\\n\\nThe|—x              parts, behind a letter
    answer     a | Ġtea | . Ċ Ċ The | âĢĶ x     pieces
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ..pieces import BEGINS, piece_bytes
from ..records import PARAGRAPH

__all__ = ["BREAK", "FIRST", "MARKS", "SPACE", "Memo", "Written", "calls", "ends_of", "written"]

BREAK = PARAGRAPH.encode()
FIRST = b"\xff"  # what a part begins with that stands first in a text, though it begins with a mark
SPACE = 0x20
MARKS = frozenset(byte for byte in range(0x21, 0x7F) if not chr(byte).isalnum())
_CALL = 1 << 20  # characters given to the library at a time: it takes some 200 bytes a token until it is done
_TOGETHER = 32  # parts in one text
_MEMO = 48 << 20  # bytes of the memo, above which it begins anew
_LONGEST = 64  # bytes of a part that is remembered
_BEHIND = "a"  # what parts are put behind
_FILLER = b" a"  # what is put before a part that begins with a mark
_PLAIN = re.compile(rb"[ -~]+")
_BREAKS, _BREAKS_OF_BYTES = re.compile(PARAGRAPH), re.compile(BREAK)
_AFTER_BREAK = re.compile(f"(?<={PARAGRAPH})")
_UNKNOWN = "\0"
_NONE: list[int] = []
Ints = npt.NDArray[np.int64]


class Written(NamedTuple):
    """What the pieces of a tokenizer stand for in a text, by id, and which characters are together one unknown piece."""

    pieces: list[bytes]
    unknown: re.Pattern[str] | None


class _Asked(NamedTuple):
    """A part that is asked for behind others: what is put before it, its normal form, and where breaks end in that."""

    part: bytes
    filler: bytes
    normal: bytes
    breaks: list[int]


def written(tokenizer: dict[str, Any], pieces: Sequence[str], mark: str, never: frozenset[int]) -> Written | None:
    """Tell what pieces stand for, by a tokenizer.json; nothing where no mark of theirs stands for a space.

    Args:
        mark: which tells where words begin.
        never: ids that text never gives.
    """
    if mark not in BEGINS:
        return None
    model = tokenizer["model"]
    unknown = model.get("unk_id", -1) if model["type"] == "Unigram" else model.get("unk_token")
    unsaid = {i for i, piece in enumerate(pieces) if i in never or unknown in (i, piece)}
    known = "".join(piece for piece in pieces if len(piece) == 1) + " "
    return Written(
        [_UNKNOWN.encode() if i in unsaid else piece_bytes(piece, mark) for i, piece in enumerate(pieces)],
        None if mark == "Ġ" or model.get("byte_fallback") else re.compile(f"[^{re.escape(known)}]+"),
    )


class Memo:
    """The ids of parts, bounded; no result depends on what is in it.

    `dtype` is that of ids.  `marks`: whether parts may begin with a mark.  `written`: what pieces stand for, where that is known.
    `breaks`, until the next call: of a part, where paragraphs end in it, in bytes, and how many of its ids are before that.
    """

    def __init__(self, tokenizer: Tokenizer, dtype: np.dtype[Any], *, marks: bool, written: Written | None) -> None:
        self._tokenizer, self._dtype, self._marks, self._written = tokenizer, dtype, marks, written
        self._sizes = np.array([len(piece) for piece in written.pieces] if written else [], np.int64)
        self._first = self._fast([_BEHIND])[0]
        self._normal = self._normalized(_BEHIND)
        self.works = bool(self._first)
        self._forget()

    def _forget(self) -> None:
        self._ids: dict[bytes, bytes] = {}
        self.breaks: dict[bytes, dict[int, int]] = {}
        self._long: list[bytes] = []  # parts that are remembered for one call

    def __call__(self, parts: list[bytes]) -> list[bytes]:
        """Return the ids of each part; none of one that can't be asked for by itself."""
        for part in self._long:
            del self._ids[part]
            self.breaks.pop(part, None)
        if len(self._ids) * 200 > _MEMO:  # bytes of an entry, about: two byte strings and their place in the table
            self._forget()
        new = [*dict.fromkeys(part for part in parts if part not in self._ids)]
        self._long = [part for part in new if len(part) > _LONGEST]
        self._learn(new)
        return [*map(self._ids.__getitem__, parts)]

    def _learn(self, parts: list[bytes]) -> None:
        first: list[bytes] = []
        alone: list[bytes] = []
        asked: list[_Asked] = []
        for part in parts:
            is_mark = self._marks and part[0] in MARKS
            is_first = part[0] != SPACE and not is_mark
            plain = part[-1] > SPACE and _PLAIN.fullmatch(part)
            normal, breaks = (part, _NONE) if plain else self._normal_form(part.removeprefix(FIRST), is_first)
            if not normal:
                self._ids[part] = b""
            elif is_first:
                first.append(part)
            elif self._written is None or (not plain and len(breaks) != part.count(BREAK)):
                alone.append(part)
            else:
                asked.append(_Asked(part, _FILLER if is_mark else b"", normal, breaks))
        self._ask_each(first, [])
        self._ask_each([*alone, *self._ask_together(asked)], self._first)

    def _normal_form(self, part: bytes, first: bool) -> tuple[bytes, list[int]]:
        """Return what the pieces of a part should say, and where breaks end in it; nothing where what follows the part, or stands
        before it, changes it: its first character must stay, and it must end visibly.
        """
        text = part.decode("utf-8", "replace")
        if unicodedata.category(text[-1])[0] in "CZ" or "▁" in text:
            return b"", []
        behind = "" if first else self._normal
        normal = self._normalized(text if first else _BEHIND + text)
        rest = normal[len(behind) :]
        stays = first or (normal.startswith(behind) and rest[:1] in (text[0], "▁"))
        if not stays or not rest or unicodedata.category(rest[-1])[0] in "CZ" or rest[-1] == "▁":
            return b"", []
        unknown = self._written.unknown if self._written else None
        cut = [
            (unknown.sub(_UNKNOWN, stretch) if unknown else stretch).encode()
            for stretch in _AFTER_BREAK.split(rest.replace("▁", " "))
        ]
        return b"".join(cut), [*accumulate(map(len, cut[:-1]))]

    def _ask_together(self, asked: list[_Asked]) -> list[bytes]:
        """Ask for many parts in a text; return those of which the answer does not tell which ids are theirs.

        It does where the pieces say, byte for byte, what was asked, but for case.  A step may drop white space or put it before a
        word; then all that is visible still is there, in order, and each part has its own.
        """
        pieces, skip = self._written.pieces if self._written else [], len(self._first)
        groups = [asked[start : start + _TOGETHER] for start in range(0, len(asked), _TOGETHER)]
        texts = [_BEHIND + b"".join([each.filler + each.part for each in group]).decode("utf-8", "replace") for group in groups]
        good: list[_Asked] = []
        others: list[bytes] = []
        ids: list[int] = []
        for start, end in calls(texts):
            for group, answer in zip(groups[start:end], self._fast(texts[start:end]), strict=True):
                said = b"".join([pieces[i] for i in answer[skip:]])
                wanted = b"".join([each.filler + each.normal for each in group])
                if answer[:skip] == self._first and said.lower() == wanted.lower():
                    good += group
                    ids += answer[skip:]
                else:
                    others += [each.part for each in group]
        self._share_out(good, np.array(ids, self._dtype))
        return others

    def _share_out(self, asked: list[_Asked], ids: npt.NDArray[Any]) -> None:
        """Remember the ids of parts that stand end to end."""
        token_ends = np.cumsum(self._sizes[ids])
        ends = np.cumsum([len(each.filler) + len(each.normal) for each in asked], dtype=np.int64)
        starts = ends - [len(each.normal) for each in asked]
        first, last = (np.searchsorted(token_ends, places, "right") for places in (starts, ends))
        packed, width = ids.tobytes(), self._dtype.itemsize
        for each, begin, end in zip(asked, (first * width).tolist(), (last * width).tolist(), strict=True):
            self._ids[each.part] = packed[begin:end]
        for nth, each in enumerate(asked):
            if each.breaks:
                counts = np.searchsorted(token_ends, each.breaks + starts[nth], "right") - first[nth]
                self.breaks[each.part] = dict(zip(_breaks_in(each.part), counts.tolist(), strict=True))

    def _ask_each(self, parts: list[bytes], before: list[int]) -> None:
        """Ask for each part by itself, as the first in a text or behind what has the ids `before`."""
        skip, behind = len(before), _BEHIND if before else ""
        for broken in (True, False):
            group = [part for part in parts if (BREAK in part) == broken]
            texts = [behind + part.removeprefix(FIRST).decode("utf-8", "replace") for part in group]
            for start, end in calls(texts):
                if broken:
                    answers = self._tokenizer.encode_batch(texts[start:end], add_special_tokens=False)
                    ids = [answer.ids for answer in answers]
                    for part, text, answer in zip(group[start:end], texts[start:end], answers, strict=True):
                        counts = ends_of(answer, _breaks_in(text)) - skip
                        self.breaks[part] = dict(zip(_breaks_in(part.removeprefix(FIRST)), counts.tolist(), strict=True))
                else:
                    ids = self._fast(texts[start:end])
                for part, part_ids in zip(group[start:end], ids, strict=True):
                    self._ids[part] = array(self._dtype.char, part_ids[skip:] if part_ids[:skip] == before else []).tobytes()

    def _fast(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _normalized(self, text: str) -> str:
        return str(self._tokenizer.normalizer.normalize_str(text)) if self._tokenizer.normalizer else text


def calls(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Cut texts into calls of the library of bounded size."""
    sizes = np.cumsum([0, *map(len, texts)])
    cuts = np.flatnonzero(np.diff(sizes[:-1] // _CALL)) + 1
    edges = [0, *cuts.tolist(), len(texts)]
    return ((start, end) for start, end in pairwise(edges) if start < end)


def ends_of(answer: Any, bounds: Any) -> Ints:
    """Return how many tokens stand before each place in a text [N]: those whose last character does."""
    offsets = np.fromiter(chain.from_iterable(answer.offsets), np.int64).reshape(-1, 2)[:, 1]
    last = np.maximum.accumulate(np.maximum(offsets - 1, 0)) if len(offsets) else offsets
    return np.asarray(np.searchsorted(last, bounds), np.int64)


def _breaks_in(text: Any) -> list[int]:
    """Return where each break in a text ends, in its characters or bytes."""
    pattern = _BREAKS if isinstance(text, str) else _BREAKS_OF_BYTES
    return [match.end() for match in pattern.finditer(text)]
