"""Show rows as a person reads them: A and B with the words that a model is to predict marked."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ...config import OBJECTIVES, PairsConfig
from ...pieces import shown
from ...tokens.vocab import AnyVocabulary
from ..examples import texts
from .markup import Html, foreign, join, tag, text
from .measure import Masks
from .sample import RowSample

__all__ = ["marked", "row_article"]

_MOST = 256  # tokens of a row that are shown


def row_article(
    sample: RowSample, masks: Masks | None, index: int, config: PairsConfig, known: AnyVocabulary, when: str = ""
) -> Html:
    """Return a row with its label, its parts and its masks; `when` says when it is masked so."""
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
    starts = row.get("document_starts") or [0]
    label = row.get("next_sentence_label")
    labels = label if isinstance(label, list) else [label] * len(starts)
    names, body = OBJECTIVES[config.objective].labels, []
    for start, end, truth in zip(starts, [*starts[1:], len(ids)], labels, strict=True):
        if names:
            body.append(tag("p", names[truth], class_="label"))
        for side, name in ((0, "A"), (1, "B")) if names else ((0, ""),):
            at = start + np.flatnonzero(types[start:end] == side)
            hidden = {n: changes[i] for n, i in enumerate(at[:_MOST]) if i in changes}
            words = marked([pieces[ids[i]] for i in at[:_MOST]], hidden, mark, special)
            body.append(tag("p", tag("b", name) if name else "", " " if name else "", words, " …" if len(at) > _MOST else ""))
    number = int(sample.numbers[index])
    padding = f", {config.max_seq_length - len(ids)} of padding" if config.max_seq_length > len(ids) else ""
    summary = f"row {number:,} · {len(ids)} tokens{padding}{f' · masked: {when}' if when else ''}"
    return tag("article", tag("p", summary, class_="faint"), *body)


def marked(words: list[str], changes: dict[int, str], mark: str = "##", special: Collection[str] = ()) -> Html:
    """Return pieces as text, those in `changes` marked: "kept", "[MASK]" or the piece that is shown instead of them.

    >>> marked(["tea", "##s", "茶", "树"], {1: "[MASK]", 3: "kept"})
    'tea<mark><bdi>s</bdi></mark> 茶<mark class="kept"><bdi>树</bdi></mark>'
    """
    parts: list[Html] = []
    for index, spaced in enumerate(texts(words, mark, special)):
        word = spaced.removeprefix(" ")
        change = changes.get(index, "")
        parts.append(text(" " if index and word != spaced else ""))
        if not change:
            parts.append(text(word))
            continue
        word = word if word.strip() else shown(words[index], mark)
        if change in ("[MASK]", "kept"):
            parts.append(tag("mark", foreign(word), class_="kept" if change == "kept" else None))
        else:
            parts.append(tag("mark", foreign(word), " → ", foreign(change), class_="random"))
    return join(*parts)
