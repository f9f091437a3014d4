"""Describe the tokens of a vocabulary: which ids are special tokens, and which tokens continue a word.

    ##    "tea ##s"    a piece that begins with the mark continues a word                          WordPiece
    Ġ     "Ġtea s"     one that does not begin with it does; Ġ stands for a space                  byte-level BPE
    ▁     "▁tea s"     the same, ▁ standing for a space                                          SentencePiece's BPE and Unigram
    ""    "tea"        no mark: each token is a word                                             WordLevel and others

Text without spaces between words would be one word by Ġ and ▁.  So a piece that begins with a character of such a script
(Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan) begins a word, and so does whitespace.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

ROLES = ("pad", "unk", "cls", "sep", "mask")
BERT_TOKENS = {role: f"[{role.upper()}]" for role in ROLES}  # BERT's special tokens
BEGINS = ("Ġ", "▁")  # marks with which a piece begins a word; any other mark means that it continues one
_UNSPACED_SCRIPTS = (  # ranges of scripts without spaces between words
    *((0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF)),
    (0x20000, 0x3FFFF),
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_BETWEEN = re.compile(f"(?<=[{_CJK}]) (?=[{_CJK}])")
_VISIBLE_SPACES = {ord(" "): "␣", ord("\n"): "⏎", ord("\t"): "⇥"}
_BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")  # SentencePiece's token for one byte
# The bytes that the characters of byte-level pieces stand for. Source: openai/gpt-2, src/encoder.py.
_PRINTABLE = {chr(byte): byte for byte in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))}
_BYTES = _PRINTABLE | {chr(256 + nth): byte for nth, byte in enumerate(sorted({*range(256)} - {*_PRINTABLE.values()}))}
IGNORED = -100  # label of a position whose token is not predicted: `ignore_index` of torch's cross_entropy


class Special(NamedTuple):
    """The ids of special tokens, -1 for a missing one.

    `others` are further special tokens.  `mark` marks the tokens that begin or continue a word.
    """

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int
    others: tuple[int, ...]
    mark: str

    @property
    def never(self) -> frozenset[int]:
        """The ids of all special tokens."""
        return frozenset((self.pad, self.cls, self.sep, self.mask, *self.others)) - {-1}


def of_tokenizer(tokenizer: dict[str, Any], named: dict[str, str]) -> tuple[list[str], Special]:
    """Return the pieces by id, "" where an id has none, and the special tokens of a tokenizer.json.

    `named` has the tokens of roles by the keys of a tokenizer_config.json, such as ``cls_token``.
    """
    model = tokenizer["model"]
    vocabulary = model["vocab"]
    ids = {piece: i for i, (piece, *_) in enumerate(vocabulary)} if isinstance(vocabulary, list) else dict(vocabulary)
    added = tokenizer.get("added_tokens") or []
    ids |= {entry["content"]: entry["id"] for entry in added}
    pieces = [""] * (1 + max(ids.values(), default=-1))
    for piece, i in ids.items():
        pieces[i] = piece
    roles = {role: int(ids.get(named.get(f"{role}_token", ""), -1)) for role in ROLES}
    unused = {entry["id"] for entry in added if entry["special"]}
    unused.update(i for i, piece in enumerate(pieces if "" in pieces else ()) if not piece)
    before = json.dumps([tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")], ensure_ascii=False)
    mark = "Ġ" if '"ByteLevel"' in before else "▁" if "▁" in before or model["type"] == "Unigram" else ""
    mark = model.get("continuing_subword_prefix") or mark
    return pieces, Special(**roles, others=tuple(sorted(unused.difference(roles.values()))), mark=mark)


def continues_word(piece: str, mark: str = "##") -> bool:
    """Return True if a piece continues a word; the mark alone is a word.

    >>> continues_word("##ing"), continues_word("ing"), continues_word("##")
    (True, False, False)
    >>> [continues_word(piece, "Ġ") for piece in ("Ġtea", "s", "èĮ¶", "Ċ")]
    [False, True, False, False]
    >>> [continues_word(piece, "▁") for piece in ("▁tea", "s", "茶", "<0xE8>", "<0x8C>")]
    [False, True, False, False, True]
    """
    if mark not in BEGINS:
        return bool(mark) and piece.startswith(mark) and piece != mark
    return not piece.startswith(mark) and not _begins(piece_bytes(piece, mark))


def piece_bytes(piece: str, mark: str) -> bytes:
    """Return the UTF-8 that a piece stands for, which may begin or end inside a character; without its mark's meaning.

    >>> piece_bytes("ĠtÃ©", "Ġ"), piece_bytes("<0xC3>", "▁")
    (b' t\\xc3\\xa9', b'\\xc3')
    """
    if mark == "Ġ":
        with contextlib.suppress(KeyError):
            return bytes(map(_BYTES.__getitem__, piece))
    if match := _BYTE_TOKEN.fullmatch(piece):
        return bytes([int(match[1], 16)])
    return piece.replace("▁", " ").encode("utf-8", "replace")


def bare(piece: str, mark: str) -> str:
    """Return the text of a token without its mark. Bytes of an incomplete character become U+FFFD.

    >>> bare("##s", "##"), bare("Ġcaf\u00c3\u00a9", "Ġ"), bare("▁tea", "▁"), bare("##", "##")
    ('s', 'caf\u00e9', 'tea', '##')
    """
    if mark in BEGINS:
        return piece_bytes(piece, mark).decode("utf-8", "replace").removeprefix(" ")
    return piece.removeprefix(mark) if continues_word(piece, mark) else piece


def shown(piece: str, mark: str) -> str:
    """Return a readable form of a token: a space as ␣, invisible bytes as <0xE8>.

    >>> [shown(piece, "Ġ") for piece in ("Ġcaf\u00c3\u00a9", "s", "Ċ", "èĮ", "<s>")], shown("▁tea", "▁"), shown("##s", "##")
    (['␣caf\u00e9', 's', '⏎', '<0xE8><0x8C>', '<s>'], '␣tea', '##s')
    """
    if mark not in BEGINS:
        return piece
    data = piece_bytes(piece, mark)
    text = data.decode("utf-8", "replace").translate(_VISIBLE_SPACES)
    return text if text.isprintable() and "\ufffd" not in text else "".join(f"<0x{byte:02X}>" for byte in data)


def word_rule(mark: str) -> str:
    """Say in a sentence which tokens begin a word.

    >>> word_rule("##")
    'A token that begins with `##` continues a word; any other begins one.'
    """
    if not mark:
        return "Each token is a word, because no mark shows which tokens continue one."
    if mark not in BEGINS:
        return f"A token that begins with `{mark}` continues a word; any other begins one."
    scripts = "one that begins with a character of Chinese, Japanese, Thai and other scripts without spaces"
    return f"A token that begins with `{mark}`, a space, begins a word, and so does {scripts}; any other continues one."


def _begins(data: bytes) -> bool:
    """Return True if bytes begin with whitespace, or with a character of a script without spaces."""
    if not data or data[:1].isspace():
        return bool(data)
    # The least and the greatest first character, if the bytes end inside it. U+FFFD stands for bytes that begin none.
    first, last = ((data + fill * 3).decode("utf-8", "replace")[0] for fill in (b"\x80", b"\xbf"))
    is_mark = first == last and unicodedata.category(first).startswith("M")
    return not is_mark and any(low <= ord(first) <= ord(last) <= high for low, high in _UNSPACED_SCRIPTS)


def join(pieces: Sequence[str], mark: str = "##", special: Collection[str] = ()) -> str:
    """Join tokens into text, without spaces between Chinese or Japanese characters. Special tokens are separate words.

    >>> join(["tea", "##s", "茶", "树"])
    'teas 茶树'
    >>> join(["[CLS]", "tea", "s", "ĠcafÃ©", "Ċ", "two"], "Ġ")
    '[CLS]teas café two'
    >>> join(["<s>", "Ġa", "<mask>", "s", "</s>"], "Ġ", {"<s>", "<mask>", "</s>"})
    '<s> a <mask> s </s>'
    """
    if mark in BEGINS:
        decoded = (f" {piece} ".encode() if piece in special else piece_bytes(piece, mark) for piece in pieces)
        return " ".join(b"".join(decoded).decode("utf-8", "replace").split())
    text = " ".join(pieces).replace(f" {mark or '##'}", "")
    return _BETWEEN.sub("", text)
