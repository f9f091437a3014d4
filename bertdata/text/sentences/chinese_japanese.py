"""Find the ends of Chinese and Japanese sentences, which have their own punctuation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

LANGUAGES = frozenset(("zh", "ja", "yue", "wuu", "gan", "lzh", "hak"))
WRITTEN = re.compile("[\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]")  # a character of them
_END = re.compile("(?:[。！？｡]|(?<=[\u3040-\u9fff”」』）])[!?])[。！？｡!?]*(?:[”’」』）)】》〉\"'][。！？｡]?)*")
_GOES_ON = {  # after a closed quotation the sentence goes on with these
    "ja": re.compile(
        "[”’」』）)】》〉\"']\\s*(?!しかし|だから|でも、|では、|なお|なぜ|もし|もちろん|はい|やがて|はじめ|かつて|もう)[とをにがはものでへやかなだしまよ、，・（「『]|[！？!?]と[^こ]|》|〉"
    ),
    "zh": re.compile("[”’」』）)】》〉\"']\\s*(?:[的地、，；：,的和与及等]|[^，。！？“”]{0,6}[说說道问問答喊叫嚷笑曰云])|》|〉"),
}
_BRACKET = re.compile("（[^（）]*）|\\([^()]*\\)|《[^《》]*》|【[^【】]*】")


def ends(text: str, language: str) -> Iterator[int]:
    """Yield where Chinese or Japanese sentences end: after 。！？ and what closes there, not inside brackets."""
    goes_on = _GOES_ON["ja" if language == "ja" else "zh"]
    brackets = [match.span() for match in _BRACKET.finditer(text)]
    brackets.reverse()
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        while brackets and brackets[-1][1] <= end:
            brackets.pop()
        # Inside of a bracket, and the sentence has text before the bracket: the bracket is a remark
        # within the sentence. If the bracket opens the sentence, its contents are sentences.
        inside = brackets and brackets[-1][0] < end < brackets[-1][1] and text[start : brackets[-1][0]].strip()
        if not inside and not goes_on.match(text, end - 1):
            yield end
            start = end
    yield len(text)
