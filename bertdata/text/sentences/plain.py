"""Split sentences by one rule for all languages: a mark that ends them, what closes there, whitespace, no small letter.

>>> split_plain('He came. "Sit down." J. Lowe sat at 2.5 m from her. न आया। वह गया।')
['He came.', '"Sit down."', 'J. Lowe sat at 2.5 m from her.', 'न आया।', 'वह गया।']
"""

from __future__ import annotations

import re

__all__ = ["split_plain"]

_END = re.compile(
    r"(?:(?<!\b\w)\.|[!?…؟۔।॥။።፧])[.!?…]{0,3}[\"'”’»›)\]]{0,3}\s+(?=\W{0,3}(\w?))"  # not after an initial and a full stop
    r"|[。！？｡]{1,3}[”’」』）)】》]{0,3}()"
)


def split_plain(paragraph: str, language: str = "") -> list[str]:
    """Split a paragraph into its sentences, stripped, none empty; the language makes no difference."""
    sentences, start = [], 0
    for end in _END.finditer(paragraph):
        if not (end[1] or "").islower():
            sentences.append(paragraph[start : end.end()].strip())
            start = end.end()
    return [sentence for sentence in (*sentences, paragraph[start:].strip()) if sentence]
