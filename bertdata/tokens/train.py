"""Train a vocabulary on counted words: BERT's WordPiece, or byte-level BPE as in GPT-2 and RoBERTa.

`tokenizers` assigns ids to the alphabet and to ``##x`` in the order of a hash map, which differs between runs and decides which
of two equally frequent pairs is merged. So it receives words and alphabet in a fixed order here.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, WordPiece
from tokenizers.trainers import BpeTrainer, WordPieceTrainer

from .. import keys
from ..config import VocabConfig
from ..errors import EmptyResultError
from .vocab import NAMED, SPECIAL, Vocabulary, from_tokens, unused_names

_UNUSED_TOKENS = 994  # [unused0] to [unused993], as in bert-base-uncased's vocab.txt
_TEXT_CHARS = 1 << 16  # characters of a text that is given to the trainer
_ALONE = r"!-/:-@\[-`{-~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # punctuation of ASCII, and Chinese characters
_PART = re.compile(rf"[^ \t\n\r{_ALONE}]+|[{_ALONE}]")


def is_sampled(seed: int, document_id: str, share: float) -> bool:
    """Return True if a document is in the sample: a function of its id alone, so of no order and no number of workers."""
    return keys.key(seed, "sample", document_id) < share * 2.0**64


def blank(config: VocabConfig, strip_accents: bool = False) -> Tokenizer:
    """Return a tokenizer without tokens that splits text into words like the trained one."""
    if config.model == "wordpiece":
        return from_tokens(SPECIAL, bool(config.lowercase), strip_accents).tokenizer()
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *([normalizers.Lowercase()] if config.lowercase else [])])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def count_parts(sentences: Iterable[str], model: str) -> Counter[str]:
    """Count the parts of sentences: between whitespace, punctuation and Chinese characters, or for BPE from space to space.

    They become words after all counts are added up, which is much faster than to cut each sentence into words.
    """
    if model == "bpe":
        return Counter(f" {word}" for sentence in sentences for word in sentence.split())
    return Counter(itertools.chain.from_iterable(map(_PART.findall, sentences)))


def parts_to_words(parts: Counter[str], tokenizer: Tokenizer) -> Counter[str]:
    """Turn counted parts into counted words, as the tokenizer's normalizer and pre-tokenizer make them.

    >>> parts = count_parts(["Tea, tea", "TEA!"], "wordpiece")
    >>> sorted(parts_to_words(parts, blank(VocabConfig(lowercase=True))).items())
    [('!', 1), (',', 1), ('tea', 3)]
    >>> sorted(parts_to_words(count_parts(["Tea, tea"], "bpe"), blank(VocabConfig(model="bpe"))).items())
    [(',', 1), ('ĠTea', 1), ('Ġtea', 1)]
    """
    words: Counter[str] = Counter()
    normalize, cut = tokenizer.normalizer.normalize_str, tokenizer.pre_tokenizer.pre_tokenize_str
    for part, count in parts.items():
        for word, _ in cut(normalize(part)):
            words[word] += count
    return words


def train(words: Mapping[str, int], config: VocabConfig) -> Vocabulary:
    """Train on counted words. Raise EmptyResultError without any. Accents: None follows `lowercase`, as in BERT."""
    if not words:
        raise EmptyResultError("the sample has no text to train on. Use a larger corpus, or a larger `sample_bytes`")
    around = [f"[unused{i}]" for i in range(_UNUSED_TOKENS)] if config.layout == "bert" else []
    special, inner = [SPECIAL[0], *around[:99], *SPECIAL[1:], *around[99:], *config.extra_tokens], list[str]()
    trained, alphabet = Tokenizer(BPE()), sorted(pre_tokenizers.ByteLevel.alphabet())
    if config.model == "wordpiece":
        most = max(1, (config.size - len(special)) // 2)  # characters: each may take two tokens, x and ##x
        trained, (alphabet, inner) = Tokenizer(WordPiece(unk_token="[UNK]")), _alphabet(words, min(config.alphabet, most))
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = (WordPieceTrainer if config.model == "wordpiece" else BpeTrainer)(
        vocab_size=config.size,
        min_frequency=config.min_frequency,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        special_tokens=[*special, *inner],
        show_progress=False,
    )
    trained.train_from_iterator(_repeated(dict(sorted(words.items()))), trainer)
    ids = trained.get_vocab()
    pieces = sorted(ids, key=ids.__getitem__)
    unused = list(itertools.islice(unused_names(pieces), -len(pieces) % (config.pad_to_multiple_of or 1)))
    pieces += unused
    if config.model == "wordpiece":
        strip = config.lowercase if config.strip_accents is None else config.strip_accents
        return from_tokens(pieces, bool(config.lowercase), bool(strip))
    tokenizer = blank(config)
    merges = json.loads(trained.to_str())["model"]["merges"]
    tokenizer.model = BPE({piece: i for i, piece in enumerate(pieces)}, [tuple(merge) for merge in merges])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in [*special, *sorted(unused)]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return Vocabulary(tokenizer.to_str(), dict(sorted(NAMED.items())))


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Yield every word as often as it was counted, in texts of limited size."""
    for word, count in words.items():
        most = max(1, _TEXT_CHARS // (len(word) + 1))
        for start in range(0, count, most):
            yield f"{word} " * min(most, count - start)


def _alphabet(words: Mapping[str, int], limit: int) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and ``##x`` for those that occur inside words."""
    counts, inside = Counter[str](), set[str]()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        inside.update(word[1:])
    alphabet = [c for c, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]]
    return sorted(alphabet), [f"##{c}" for c in sorted(inside.intersection(alphabet))]
