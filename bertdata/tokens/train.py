"""Train a BPE or Unigram vocabulary on counted words: a byte-level one, or one of characters as SentencePiece makes them.

    bpe                  NFC, GPT-2's pattern, bytes                    every text has ids
    bpe, byte_fallback   NFKC, spaces as ▁, characters, bytes of those that are rare
    unigram              NFKC, all whitespace as ▁, characters
    unigram, byte_fallback   as bpe with byte_fallback

With bytes, the line feeds between paragraphs are separate tokens. Without bytes, they would be [UNK]. A word is the text between
two spaces, with the space before it. `tokenizers` receives words and alphabet in a fixed order, which makes its BPE reproducible.
Its Unigram trainer sums in the order of a hash map, so its scores differ between runs, and `unigram` in this package trains
Unigram instead.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram
from tokenizers.trainers import BpeTrainer

from ..config import VocabConfig
from ..errors import EmptyResultError
from ..pieces import of_tokenizer
from . import unigram
from .vocab import NAMED, SPECIAL, Vocabulary, alphabet_of, filled, merged, parts_to_words

__all__ = ["blank", "count_words", "train"]

_MIN_MERGED_PIECES = 16  # tokens reserved in addition to the alphabet


def blank(config: VocabConfig) -> Tokenizer:
    """Return a tokenizer without tokens that splits text into words like the trained one."""
    tokenizer = Tokenizer(Unigram() if config.model == "unigram" else BPE())
    lower = [normalizers.Lowercase()] if config.lowercase else []
    if config.model == "bpe" and not config.byte_fallback:
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *lower])
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer
    spaces = normalizers.Replace(Regex(" {2,}" if config.byte_fallback else r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), *lower, spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return tokenizer


def count_words(sentences: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    """Count the words of sentences, as the tokenizer's normalizer and pre-tokenizer make them, each with a space before it.

    >>> sorted(count_words(["Tea, tea"], blank(VocabConfig(model="bpe"))).items())
    [(',', 1), ('ĠTea', 1), ('Ġtea', 1)]
    """
    return parts_to_words(Counter(f" {word}" for sentence in sentences for word in sentence.split()), tokenizer)


def train(words: Mapping[str, int], config: VocabConfig) -> Vocabulary:
    """Train on counted words. Raise EmptyResultError if there are none."""
    special = [*SPECIAL, *config.extra_tokens]
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)] if config.byte_fallback else []
    level = pre_tokenizers.ByteLevel.alphabet() if config.model == "bpe" and not config.byte_fallback else []
    size = config.size - len(special) - len(bytes_of)
    alphabet = sorted(level) or alphabet_of(words, min(config.alphabet, max(1, size - _MIN_MERGED_PIECES)))[0]
    if not words or not alphabet:
        raise EmptyResultError("the sample has no text to train on. Use a larger corpus, or a larger `sample_bytes`")
    tokenizer = blank(config)
    if config.model == "unigram":
        scored = unigram.train(words, alphabet, size)
        lowest = min(score for _, score in scored)
        pieces = [(piece, 0.0) for piece in special] + [(piece, lowest - 10) for piece in bytes_of] + scored
        pieces += [(piece, 0.0) for piece in filled([piece for piece, _ in pieces], config)[len(pieces) :]]
        tokenizer.model = Unigram(pieces, unk_id=1, byte_fallback=config.byte_fallback)
    else:
        trained = merged(Tokenizer(BPE()), BpeTrainer, dict(sorted(words.items())), alphabet, [*special, *bytes_of], config)
        model = json.loads(trained.to_str())["model"]
        ids = sorted(model["vocab"], key=model["vocab"].get)
        vocabulary = {piece: i for i, piece in enumerate(filled(ids, config))}
        merges = [tuple(merge) for merge in model["merges"]]
        unknown = "[UNK]" if not level else None
        tokenizer.model = BPE(vocabulary, merges, unk_token=unknown, byte_fallback=config.byte_fallback)
    names = [piece for piece in sorted(tokenizer.get_vocab()) if piece.startswith("[unused")]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in [*special, *names]])
    around = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=around
    )
    form = tokenizer.to_str()
    return Vocabulary(of_tokenizer(json.loads(form), NAMED)[0], form=form, named=dict(sorted(NAMED.items())))
