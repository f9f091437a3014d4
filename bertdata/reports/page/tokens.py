"""Show rows as a person reads them: A and B with the words that a model is to predict marked."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from ...config import OBJECTIVES, PairsConfig
from ...pieces import shown
from ...tokens.vocab import Vocabulary
from ..examples import texts
from .markup import Html, foreign, join, short, tag, text
from .measure import Masks
from .sample import RowSample

__all__ = ["language_of", "marked", "row_article"]

_MAX_TOKENS = 256  # shown per row
_KANA, _HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_CUT_MARK = tag("span", class_="cut", aria_hidden="true")


def language_of(sample: str, known: Collection[str]) -> str:
    """Return the language of a sample of text, on which the forms of its letters depend; ``""`` where that can't be said.

    `known` are the languages of the dataset.

    >>> [language_of(sample, ["en", "ja", "zh"]) for sample in ("お茶", "茶树", "tea")], language_of("tea", ["fr"])
    (['ja', 'zh', ''], 'fr')
    """
    if len(known) == 1:
        return next(iter(known))
    if _KANA.search(sample):
        return "ja"
    return "" if not _HAN.search(sample) else "ja" if "ja" in known and "zh" not in known else "zh"


def row_article(
    sample: RowSample,
    masks: Masks | None,
    index: int,
    config: PairsConfig,
    known: Vocabulary,
    languages: Collection[str] = (),
) -> Html:
    """Return a row with its label, segments, words if it marks them, and masks. `languages` are those of the dataset."""
    pieces, mark = known.pieces, known.special.mark
    special = {pieces[i] for i in known.special.never}
    row = sample.table.slice(index, 1).to_pylist()[0]
    ids, types = np.array(row["input_ids"]), np.array(row["token_type_ids"])
    changes: dict[int, str] = {}
    if masks is not None:
        of_row = np.flatnonzero(masks.rows == index)
        for at, new, wanted in zip(masks.positions[of_row], masks.shown[of_row], masks.wanted[of_row], strict=True):
            ids[at] = wanted
            changes[int(at)] = "kept" if new == wanted else "[MASK]" if new == known.special.mask else shown(pieces[new], mark)
    begins = ~np.array(row.get("continues_word", np.ones(len(ids))), bool)
    starts = row.get("document_starts") or [0]
    label = row.get("next_sentence_label")
    labels = label if isinstance(label, list) else [label] * len(starts)
    names, body = OBJECTIVES[config.objective].labels, []
    for start, end, truth in zip(starts, [*starts[1:], len(ids)], labels, strict=True):
        if names:
            body.append(tag("p", names[truth], class_="label"))
        for side, name in ((0, "A"), (1, "B")) if names else ((0, ""),):
            at = start + np.flatnonzero(types[start:end] == side)
            hidden = {n: changes[i] for n, i in enumerate(at[:_MAX_TOKENS]) if i in changes}
            masked = [pieces[ids[i]] for i in at[:_MAX_TOKENS]]
            words = marked(masked, hidden, mark, special, set(np.flatnonzero(begins[at[:_MAX_TOKENS]]).tolist()))
            side_name, more = join(tag("b", name), " ") if name else "", " …" if len(at) > _MAX_TOKENS else ""
            body.append(tag("p", side_name, words, more, lang=language_of("".join(masked), languages) or None))
    number = int(sample.numbers[index])
    padding = f", {config.max_seq_length - len(ids)} of padding" if config.max_seq_length > len(ids) else ""
    summary = f"row {number:,} · {len(ids)} tokens{padding}"
    return tag("article", tag("p", summary, class_="faint"), *body)


def marked(
    words: list[str], changes: dict[int, str], mark: str = "##", special: Collection[str] = (), begins: Collection[int] = ()
) -> Html:
    """Return pieces as text, those in `changes` marked: "kept", "[MASK]" or the piece that is shown instead of them.

    A line is drawn before those in `begins`, with which words begin, where no space and no mark parts them from the last one;
    the others go on in the mark of their word.  A mark isolates its direction of writing (style.py) and no element first in
    it, or a line would end between the mark's edge and its word.

    >>> marked(["tea", "##s", "茶", "树"], {1: "[MASK]", 3: "kept"})
    'tea<mark>s</mark> 茶<mark class="kept">树</mark>'
    """
    parts: list[Html] = []
    before = within = ""  # the piece before, and what the mark has that goes on
    for index, spaced in enumerate(texts(words, mark, special)):
        word = spaced.removeprefix(" ")
        if index in begins and word == spaced and before[-1:].isalnum() and word[:1].isalnum():
            parts.append(_CUT_MARK)
        before = word
        change = changes.get(index, "")
        goes_on = change in ("[MASK]", "kept") and begins and index not in begins and word == spaced
        if not (goes_on and changes.get(index - 1) == change):
            parts.append(text(" " if index and word != spaced else ""))
            within = ""
        if not change:
            parts.append(text(word))
            continue
        word = word if word.strip() else shown(words[index], mark)
        if change in ("[MASK]", "kept"):
            if within:
                parts.pop()
            within += word
            parts.append(tag("mark", short(within, 400), class_="kept" if change == "kept" else None))
        else:
            parts.append(tag("mark", short(word, 400), " → ", foreign(change), class_="random"))
    return join(*parts)
