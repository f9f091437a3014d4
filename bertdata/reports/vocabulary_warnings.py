"""Warn of a vocabulary that does not fit its text: many [UNK], many tokens per word, no Chinese words, or assumed accents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..codec import encode
from ..config import VocabConfig
from ..dataset.manifest_records import Coverage, SourceEntry
from ..dataset.manifest_types import PairsManifest
from ..errors import few
from ..tokens.segment import is_chinese

_MAX_UNKNOWN_OVERALL = 0.02  # share of [UNK] above which to warn; a vocabulary of 30,522 has below 0.1 % on English and Chinese
_MAX_NAMED_LANGUAGES = 3  # maximum number of languages to name
_UNSPACED_LANGUAGES = frozenset(("ja", "th", "lo", "km", "my", "bo", "dz"))  # and Chinese: written without spaces between words
# A vocabulary trained on its own language stays below these; one of another script is far above.
_MAX_UNKNOWN, _MAX_PER_WORD, _MAX_PER_CHARACTER = 0.05, 2.5, 1.25
_MIN_LANGUAGE_SHARE = 0.02  # of the characters: languages with less text are not warned about
_MIN_PIECES = 1000  # smaller vocabularies exceed 2.5 tokens per word even on their own language


def chinese_without_words(manifest: PairsManifest) -> str:
    """Return a warning if masks of whole words mask Chinese character by character, for want of word boundaries, else ""."""
    chinese = any(is_chinese(language) for _, language in manifest.origins)
    if not chinese or manifest.word_mark != "##" or manifest.settings.chinese_words != "none":
        return ""
    return "masks of whole words mask each Chinese character on its own. Make the rows with `chinese_words` jieba to mask words"


def fewer(pieces: int, config: VocabConfig) -> str:
    """Return a note if a vocabulary has fewer tokens than requested, else an empty string.

    >>> fewer(3480, VocabConfig(size=21128))
    '3,480 tokens, not 21,128: too few subwords occur often enough. Use a larger corpus or a smaller `size`'
    """
    if pieces >= config.size:
        return ""
    return f"{pieces:,} tokens, not {config.size:,}: too few subwords occur often enough. Use a larger corpus or a smaller `size`"


def unknown(coverage: Mapping[str, Coverage], config: VocabConfig) -> str:
    """Return a warning if many words of a training language are [UNK], else an empty string.

    >>> of_en = Coverage(words=90, unknown_share=0.66, split_share=0.2, pieces_per_word=1.2, longest_split={})
    >>> unknown({"en": of_en}, VocabConfig(size=200, alphabet=150))
    'share of words that are [UNK]: en 66.0 %. Use a larger `size` than 200'
    """
    order = sorted(coverage, key=lambda language: (-coverage[language].words, language))
    bad = [language for language in order if coverage[language].unknown_share > _MAX_UNKNOWN_OVERALL]
    if not bad:
        return ""
    shares = [f"{language or 'unknown language'} {100 * coverage[language].unknown_share:.1f} %" for language in bad]
    field = "alphabet" if config.alphabet < config.size // 2 else "size"
    advice = f"Use a larger `{field}` than {getattr(config, field)}"
    return f"share of words that are [UNK]: {few(shares, _MAX_NAMED_LANGUAGES)}. {advice}"


def has_spaces(language: str) -> bool:
    """Return True if a language separates words by spaces. An unknown language, ``""``, is assumed to.

    >>> [has_spaces(code) for code in ("en", "zh-tw", "ja", "")]
    [True, False, False, True]
    """
    return not is_chinese(language) and language.lower().replace("_", "-").partition("-")[0] not in _UNSPACED_LANGUAGES


def poor_fit(rows: PairsManifest) -> str:
    """Return a warning if the vocabulary does not fit the text of the rows, else an empty string.

    Checks each language with at least 2 % of the text: at most 5 % of its tokens are [UNK], and a vocabulary of 1,000 pieces or
    more has at most 2.5 tokens per word, or 1.25 per character where words are not spaced. Of all tokens at most 2 % are [UNK].
    """
    text = text_by_language(rows.corpus.sources)
    tokens, unknown = (sum(map(Counter, each.values()), Counter[str]()) for each in (rows.tokens, rows.unknown_tokens))
    total = sum(counts["characters"] for counts in text.values())
    found = []
    for language in sorted(text, key=lambda code: -text[code]["characters"]):
        if not language or language == "und" or text[language]["characters"] < _MIN_LANGUAGE_SHARE * total:
            continue
        unit, most = ("word", _MAX_PER_WORD) if has_spaces(language) else ("character", _MAX_PER_CHARACTER)
        density = tokens[language] / max(1, text[language][f"{unit}s"])
        share = unknown[language] / max(1, tokens[language])
        found += [f"{language} {density:.1f} tokens per {unit}"] if density > most and rows.vocab_size >= _MIN_PIECES else []
        found += [f"{language} {100 * share:.1f} % [UNK]"] if share > _MAX_UNKNOWN else []
    overall = rows.statistics.unknown_share
    if not found and overall > _MAX_UNKNOWN_OVERALL:
        found = [f"{100 * overall:.1f} % [UNK]"]
    if not found:
        return ""
    return (
        f"the vocabulary does not fit the text: {few(found, 2 * _MAX_NAMED_LANGUAGES)}. Use a vocabulary trained on these "
        "languages, or a larger one, with the same case and accents"
    )


def text_by_language(sources: Mapping[str, SourceEntry]) -> dict[str, Counter[str]]:
    """Add up the documents, words and characters that sources have counted of each language."""
    languages: dict[str, Counter[str]] = {}
    for source in sources.values():
        for code, counts in source.languages.items():
            languages.setdefault(code, Counter()).update(encode(counts))
    return languages
