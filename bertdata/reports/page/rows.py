"""Write the report of rows: from page to row, lengths, features that predict labels, masks, words, rows to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...config import LABEL_1_COUNTS, OBJECTIVES, PairsConfig
from ...dataset.manifest_types import PairsManifest
from ...tokens.vocab import Vocabulary
from ..examples import pick
from ..mask_rules import unit_of
from ..summary import percent
from .charts import histogram, up_to
from .documents import sources_and_languages
from .flow import flow, stages_of
from .markup import Column, Html, bar, join, table, tag
from .measure import Masks, masks_of, of_partners, pairs_of, predictors, words_of
from .sample import RowSample, read_rows
from .section import Section, Subject, counted, figures
from .tokens import row_article

__all__ = ["key_figures", "sections"]

_MAX_SHOWN = 6  # rows
_LEAK_SIGMAS = 3.0  # errors of one sigma beyond which an area under the curve is called a leak
_UNITS = {"piece": "piece by piece", "word": "by whole words"}
_LABELS = {
    "nsp": "IsNext: B follows A in its document. NotNext: B is from another document.",
    "sop": "In order: B follows A in its document. Swapped: A and B have changed places.",
}
_LANGUAGES_NOTE = "These pairs were made across languages: two languages in a row mean NotNext."
_SOURCES_NOTE = "NotNext pairs may join two sources, as in BERT; pair_within source keeps them apart."
_LONG_WORD_TOKENS = 5  # tokens from which words are counted as one kind


def key_figures(subject: Subject[PairsManifest]) -> Html:
    """Return the figures that come first."""
    statistics, config = subject.manifest.statistics, subject.manifest.settings
    known = [("rows", f"{subject.manifest.rows:,}")]
    known += [("parts in them", f"{statistics.parts:,}")] if statistics.parts is not None else []
    known += [("documents", f"{statistics.documents:,}")]
    roles = subject.manifest.roles
    special = " and ".join(roles[role] for role in ("cls", "sep") if role in roles)
    known.append((f"tokens{f' with {special}' if special else ''}", f"{statistics.tokens:,}"))
    if config.objective in LABEL_1_COUNTS:
        known.append((OBJECTIVES[config.objective].labels[1], percent(statistics.ones_share)))
    unknown = roles.get("unk") or "unknown"
    known += [("padding", percent(statistics.padding_share)), (unknown, percent(statistics.unknown_share))]
    return figures(known)


def sections(subject: Subject[PairsManifest]) -> Iterator[Section]:
    """Yield the sections of rows."""
    manifest = subject.manifest
    corpus = manifest.corpus
    stages = stages_of("The corpus", corpus.counts) if corpus else []
    yield Section("flow", "From page to row", flow([*stages, *stages_of("The rows" if stages else "", manifest.counts)]))
    if corpus and corpus.sources:
        yield Section("sources", "Sources and languages", sources_and_languages(corpus.sources, manifest.tokens))
    known, config = subject.vocabulary, manifest.settings
    sample = read_rows(subject.directory, manifest, known)
    if sample is None or not sample.table.num_rows:
        return
    yield Section("lengths", "Lengths", _lengths(sample, config, manifest))
    if config.objective in LABEL_1_COUNTS:
        yield Section("labels", "Labels", _labels(sample, config, manifest))
    masks = masks_of(sample, config, known)
    if masks is not None and len(masks.wanted):
        yield Section("masks", "Masks", _masks(masks, config, known))
    if (lengths := words_of(sample, known)) is not None and len(lengths):
        yield Section("words", "Words", _words(lengths, manifest))
    yield Section("samples", "Rows", _samples(sample, masks, config, subject))


def _lengths(sample: RowSample, config: PairsConfig, manifest: PairsManifest) -> Html:
    most = config.max_seq_length
    lengths = np.diff(sample.flat("input_ids")[1])
    what = "all rows" if len(lengths) == manifest.rows else f"{len(lengths):,} of {manifest.rows:,} rows"
    pictures = [histogram("Tokens in a row", "tokens", up_to(most), [("", lengths)])]
    if (pairs := pairs_of(sample, config)) is not None:
        pictures.append(histogram("Tokens in A (blue) and B (orange)", "tokens", up_to(most), [("A", pairs.a), ("B", pairs.b)]))
    return join(tag("p", f"Measured on {what}.", class_="faint"), tag("div", *pictures, class_="pair"))


def _labels(sample: RowSample, config: PairsConfig, manifest: PairsManifest) -> Html:
    """Return the balance of labels, and how well features other than the text predict them."""
    names, statistics = OBJECTIVES[config.objective].labels, manifest.statistics
    ones = statistics.ones
    total = statistics.rows if statistics.parts is None else statistics.parts
    balance = [(names[0], total - ones), (names[1], ones)]
    pairs = pairs_of(sample, config)
    if pairs is None:
        return Html("")
    rows = []
    known = [(f"{fact} of A and B", *of_partners(values)) for fact, values in (manifest.pairings or {}).items() if values]
    for name, area, error in [*predictors(pairs), *known]:
        leaks = abs(area - 0.5) > _LEAK_SIGMAS * error
        word = tag("span", "predicts the label" if leaks else "at chance", class_="flag" if leaks else "good")
        rows.append((name, f"{area:.3f} ± {error:.3f}", word))
    columns = (Column("From"), Column("AUC ± error", numbers=True), Column(""))  # three, which a phone shows without scrolling
    text = "The area under the ROC curve shows how well one feature predicts the label: 0.5 is chance, 0 and 1 are certainty. "
    text += (
        f"It was measured on {len(pairs.labels):,} pairs. More than {_LEAK_SIGMAS:.0f} standard errors from 0.5 counts as a leak."
    )
    text += " The position in the file would predict it if rows of one label were next to each other."
    if known:
        text += " Languages, scripts and sources of documents were counted on all pairs."
        text += f" {_LANGUAGES_NOTE if config.pair_across_languages else _SOURCES_NOTE if config.pair_within == 'none' else ''}"
    meaning = tag("p", _LABELS.get(config.objective, ""))
    parts = [meaning, counted("", "Label", balance, "Pairs"), tag("h3", "Label leakage"), tag("p", text)]
    parts.append(table("", columns, rows))
    if config.objective == "nsp":
        share = percent(1 - ones / max(1, total))
        parts.append(tag("p", f"In {share} of the pairs B is the text that follows A in its document."))
    return join(*parts)


def _masks(masks: Masks, config: PairsConfig, known: Vocabulary) -> Html:
    total = len(masks.wanted)
    hidden = masks.shown == known.special.mask
    kept = masks.shown == masks.wanted
    kinds = [
        (known.pieces[known.special.mask], int(hidden.sum())),
        ("a random piece", int((~hidden & ~kept).sum())),
        ("kept", int(kept.sum())),
    ]
    share = total / max(1, masks.maskable)
    unit = unit_of(config)
    how = "as they were stored" if config.masking == "static" else "as a loader masks them in epoch 0 with BERT's shares"
    text = f"{percent(share)} of the tokens are predicted, {_UNITS[unit]}, {how}; measured on {total:,} of them."
    if config.masking != "static" and unit == "word":
        text += ' A loader masks words with unit = "word", and single tokens by default.'
    columns = (Column("Shown as"), Column("Number", numbers=True), Column("Share", numbers=True), Column(""))
    rows = [(name, f"{count:,}", percent(count / total), bar(count / total)) for name, count in kinds]
    return join(tag("p", text), table("", columns, rows))


def _words(lengths: Any, manifest: PairsManifest) -> Html:
    """Return how long words are."""
    several = percent(float((lengths > 1).mean()))
    text = f"Words of Chinese documents were found by {manifest.settings.chinese_words}, others by the vocabulary. "
    text += f"continues_word marks tokens that continue a word. Of {len(lengths):,} words {several} have several tokens; "
    text += f"a word has {lengths.mean():.2f} on average."
    if "opencc" in manifest.versions:
        text += " Traditional text was split like its simplified form, by OpenCC's tables."
    else:
        text += " jieba's dictionary has simplified characters, so words of traditional text are often split wrongly."
    sizes = np.bincount(np.minimum(lengths, _LONG_WORD_TOKENS), minlength=_LONG_WORD_TOKENS + 1)[1:].tolist()
    names = [*map(str, range(1, _LONG_WORD_TOKENS)), f"{_LONG_WORD_TOKENS} or more"]
    return join(tag("p", text), counted("", "Tokens", list(zip(names, sizes, strict=True)), "Words"))


def _samples(sample: RowSample, masks: Masks | None, config: PairsConfig, subject: Subject[PairsManifest]) -> Html:
    known = subject.vocabulary
    rows = sample.table.num_rows if masks is None else min(sample.table.num_rows, int(masks.rows.max(initial=0)) + 1)
    mark = known.special.mark
    inside = f" ({mark} where it is one from inside words)" if mark == "##" else ""
    note = "A sentence that does not fit into a row goes on in the next one, so a row may begin and end within a sentence."
    note += " Thin lines separate words that have no space between them." if "continues_word" in sample.table.column_names else ""
    key = tag(
        "ul",
        tag("li", tag("mark", "word"), f" shown as {known.pieces[known.special.mask]}"),
        tag("li", tag("mark", "word → other", class_="random"), f" shown as a random piece{inside}"),
        tag("li", tag("mark", "word", class_="kept"), " shown as it is, and predicted"),
        class_="key",
    )
    shown_rows = (row_article(sample, masks, index, config, known, subject.languages) for index in pick(rows, _MAX_SHOWN))
    return join(tag("p", note, class_="faint"), key if masks is not None else "", *shown_rows)
