"""Fingerprints and signatures are fixed, and estimate the similarity of texts."""

from __future__ import annotations

import doctest
import random
import sys

import numpy as np
import pytest

from bertdata.config import choice
from bertdata.errors import UsageError
from bertdata.stages.selection import facts, minhash, samples
from bertdata.stages.selection.facts import fingerprint, normal


@pytest.mark.parametrize("module", [facts, minhash, samples, choice])
def test_the_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


# --- the same text ---


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert fingerprint(normal(" Tea\u3000is\nHOT. ")) == fingerprint("tea is hot.")
    assert fingerprint("tea is hot.").hex() == "b1ae3c37ea58cb4397bc36fce5e8aded"
    assert fingerprint("tea") != fingerprint("te a")
    assert fingerprint("\ud800"), "half a pair has a fingerprint as well"


# --- nearly the same ---


def test_signatures_are_the_same_with_every_release() -> None:
    """A known answer: another one would change what is dropped, and must not come unnoticed."""
    known = {
        "the tide turned at noon and the ferry left": [114, 106, 167, 148, 27, 225, 48, 192],
        "数据很多，时间不够": [186, 22, 75, 59, 238, 2, 155, 64],
    }
    for text, values in known.items():
        signed = minhash.signature(text)
        assert signed.shape == (minhash.SIGNATURE_VALUES,) and signed.dtype == np.uint8 and signed[:8].tolist() == values
    assert not minhash.signature("").any()


@pytest.mark.parametrize("shared", [0, 30, 60, 90, 100])
def test_the_estimate_is_near_the_true_similarity(shared: int) -> None:
    draw, errors = random.Random(shared), []
    for _ in range(40):
        words = [str(draw.randrange(10**9)) for _ in range(400)]
        other = [*words[: 4 * shared], *(str(draw.randrange(10**9)) for _ in range(400 - 4 * shared))]
        one, two = ({*minhash._shingles(" ".join(own)).tolist()} for own in (words, other))
        signed = [minhash.signature(" ".join(own))[None] for own in (words, other)]
        errors.append(float(minhash.similarity(*signed)[0]) - len(one & two) / len(one | two))
    assert abs(sum(errors)) / 40 < 0.02, "no bias, though places of eight bits agree by chance"
    assert max(map(abs, errors)) < 0.16


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
def test_the_layout_finds_what_is_as_similar_as_asked(threshold: float) -> None:
    bands, rows = minhash.layout(threshold)
    assert bands * rows <= minhash.SIGNATURE_VALUES
    assert 1 - (1 - threshold**rows) ** bands >= 0.98
    assert rows == 128 or 1 - (1 - threshold ** (rows + 1)) ** (128 // (rows + 1)) < 0.99


def test_without_the_package_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rensa", None)
    minhash._rensa.cache_clear()
    with pytest.raises(UsageError, match=r"pip install 'rensa>=0\.5,<0\.6'"):
        minhash.packages()
