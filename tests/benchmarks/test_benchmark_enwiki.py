"""benchmarks/enwiki.py: words grow by Heaps' law where copies have no new ones, and estimates by hand."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import enwiki  # noqa: E402
from grow import Dump, pages, read_dump  # noqa: E402
from measured import Run  # noqa: E402
from new_words import Heaps, Newcomers, Speller, heaps, renewed  # noqa: E402


def _text(length: int, seed: int = 3) -> list[str]:
    """Draw words as Zipf's law has them, of which the number grows by Heaps' law."""
    chance = random.Random(seed)
    return [f"w{int(chance.paretovariate(0.7))}" for _ in range(length)]


def test_the_law_is_fitted() -> None:
    stream = [f"w{int(3 * n**0.6)}" for n in range(1, 20001)]  # by construction 3 n^0.6 different ones of n
    found = heaps(stream)
    assert found.beta == pytest.approx(0.6, abs=0.01) and found.k == pytest.approx(3, rel=0.1)
    with pytest.raises(ValueError, match="too few"):
        heaps(["a"])


def test_new_words_come_at_the_rate_of_the_law_and_half_of_the_rare_ones_come_again() -> None:
    tokens = _text(3000)
    newcomers = Newcomers(tokens, 1)
    grown = [*tokens, *(newcomers(token) for _ in range(3) for token in tokens)]
    expected = newcomers.law.at(len(grown)) / newcomers.law.at(len(tokens)) * len(set(tokens))
    assert len(set(grown)) == newcomers.types == pytest.approx(expected, rel=0.02)
    assert len(set(grown)) > 1.4 * len(set(tokens)), "a copy would have as many as before"
    assert heaps(grown).beta == pytest.approx(newcomers.law.beta, abs=0.08)
    common = [token for token, count in Counter(tokens).items() if count > 20]
    assert [newcomers(token) for token in common[:50]] == common[:50]


def test_words_are_spelled_by_the_letters_of_the_language() -> None:
    known = ["lantern", "lanyard", "harbour", "harvest", "lament", "hardens"]
    spell = Speller(known, 2)
    made = {spell() for _ in range(20)}
    assert len(made) == 20 and not made & set(known)
    pairs = {word[at : at + 2] for word in known for at in range(len(word) - 1)}
    assert all(re.fullmatch(r"[a-z]{2,40}", word) and word[:1] in "lh" for word in made)
    assert all(word[at : at + 2] in pairs for word in made for at in range(len(word) - 1))


def test_pages_keep_their_markup_and_get_new_names_of_templates() -> None:
    names = ["one", "two", "six", "ten", "red", "box", "cat", "sun", "map", "key"]
    body = b"<title>Tea %d</title><id>%d</id><text bytes='9'>{{%s|x}} Boats and boats, a %s and boats. {{cite|y}}</text>"
    made = [
        b"<page>" + body % (n, n + 1, b"Info " + name.encode(), name.encode() * 2) + b"</page>" for n, name in enumerate(names)
    ]
    grown = list(renewed(pages(Dump(b"", made, 0), 6), len(made)))
    assert grown[:10] == made and len(grown) == 60
    whole = b"".join(grown).decode()
    assert whole.count("{{") == whole.count("}}") == 120 and whole.count("{{cite|y}}") == 60
    assert len(set(re.findall(r"\{\{(\w[^|]*)\|x", whole))) > 12
    assert whole.count("boats, a ") == 60 and re.findall(r"<id>(\d+)", whole)[:3] == ["1", "2", "3"]
    assert list(renewed(pages(Dump(b"", made, 0), 6), len(made))) == grown


def test_estimates_by_hand() -> None:
    assert enwiki.estimate([1e6, 2e6, 4e6], [3.0, 4.0, 6.0], 1e8) == (102.0, 0.0)
    uneven = enwiki.estimate([1e6, 2e6, 4e6], [3.0, 4.2, 6.0], 1e8)
    assert uneven.seconds == pytest.approx(100, rel=0.1) and 1 < uneven.error < 60
    with pytest.raises(ValueError, match="three sizes"):
        enwiki.estimate([1e6, 2e6], [3.0, 4.0], 1e8)


@pytest.mark.slow
def test_sizes_grow_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from bertdata.sample import sample

    dump = read_dump(next(iter(sorted(sample().glob("*enwiki*multistream.xml.bz2")))))
    monkeypatch.setattr(enwiki, "run", lambda words: Run(1.0, 1.0, 1, []))
    sizes, runs = enwiki.measure(dump, 0.0, tmp_path)
    assert len(sizes) == 3 and sizes[2] == pytest.approx(4 * sizes[0], rel=0.05)
    table = enwiki.report(sizes, runs, 8)
    assert table.splitlines()[2].startswith("| build-corpus | 1.0 s | 1.0 s | 1.0 s | 0.00 ± 0.00 CPU hours")
    assert Heaps(1, 0.5).at(4) == 2
