"""Formulas in tags and templates: the text of simple ones, and what becomes of a sentence with any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertdata.config import read_toml
from bertdata.text.wikitext import Extractor
from bertdata.text.wikitext.formulas import CHOICES, Formulas
from bertdata.text.wikitext.marks import HOLE

TABLES = read_toml(Path(__file__).with_name("formulas.toml"))
FORMS = {"tex": ["<math>{}</math>"], "chemistry": ["<chem>{}</chem>", "<ce>{}</ce>"], "templates": ["{}"]}


def formulas() -> Iterator[tuple[str, str]]:
    """Yield each formula of the table as wikitext, and its text, "" for those that drop their sentence."""
    for kind, forms in FORMS.items():
        for formula, shown in [*TABLES[kind].items(), *((formula, "") for formula in TABLES["dropped"][kind])]:
            yield from ((form.replace("{}", formula), shown) for form in forms)


def test_a_formula_is_written_or_its_sentence_is_dropped() -> None:
    for formula, shown in formulas():
        found = Extractor(language="en")(f"One holds. Then {formula} holds, too. The last one holds.")
        middle = f"Then {shown} holds, too. " if shown else ""
        assert found.paragraphs == [f"One holds. {middle}The last one holds."], formula
        assert found.formulas["sentences", "formula"] == (not shown)


CHOSEN = {
    "text": ["La formule E = mc² est célèbre.", "Ici α₁, 1⁄2."],
    "tex": ["La formule E=mc^2 est célèbre. On a T_c ici.", "Ici \\alpha_1, 1⁄2. Et T_{c}."],
    "drop": ["La formule est célèbre. On a ici.", "Ici, 1⁄2. Et Tc."],
}


@pytest.mark.parametrize("math", CHOICES)
def test_choices(math: str) -> None:
    text = "La formule <math>E=mc^2</math> est célèbre. On a <math>T_c</math> ici.\n\n"
    text += "Ici <math>\\alpha_1</math>, {{frac|1|2}}. Et {{math|''T''<sub>c</sub>}}."
    assert Extractor(language="fr", math=math)(text).paragraphs == CHOSEN[math]


@pytest.mark.parametrize("math", CHOICES)
def test_every_formula_is_counted_once(math: str) -> None:
    text = "One <math>a</math> holds.\n{|\n| <math>b</math> || {{math|c}}\n|}\n* <math>d</math>\n== <math>e</math> ==\n"
    counts = Extractor(language="en", math=math)(text + "Two <math>\\alpha_x</math> holds. Three {{math|f}} holds.").formulas
    assert counts["found", "formula"] == (5 if math == "drop" else 7)
    assert counts["found", "formula"] == sum(counts[outcome, "formula"] for outcome in ("written", "dropped", "left_out"))


DISPLAYED = {
    "Energy is given by\n:<math>E=mc^2</math>\nwhere c is a speed.": ["Energy is given by E = mc² where c is a speed."],
    "Energy is given by\n\n: <math>E=mc^2.</math>\n\nIt is large.": ["Energy is given by E = mc².", "It is large."],
    "Energy is given by\n\n::<math>E=mc^2,</math>\n\nwhere c is a speed.": ["Energy is given by E = mc², where c is a speed."],
    "It is given by:\n <math>x=1</math>\nThe rest follows.": ["It is given by: x = 1", "The rest follows."],
    "It is given by\n<center><math>x=1</math></center>\nfor all.": ["It is given by x = 1 for all."],
    "It is\n:<math>x=1</math>\n:<math>y=2.</math>\nThe end.": ["It is x = 1 y = 2.", "The end."],
    "It is\n:<math>x_B</math>\nwhere c is a speed. So we end.": ["So we end."],
    "It was so. It is\n:<math>x_B.</math>\nThe rest follows.": ["It was so.", "The rest follows."],
    "It is known.\n:<math>x=1</math>\nThe rest follows.": ["It is known.", "The rest follows."],
    "It is\n:{{math|''x'' {{=}} 1}}\nwhere c is a speed.": ["It is x = 1 where c is a speed."],
    "これは\n:<math>x=1</math>\nで表される。": ["これは x = 1 で表される。"],
    "It is\n: some words\nThe rest follows.": ["It is", "The rest follows."],
    "<math>x=1</math>": [],
}


@pytest.mark.parametrize("text", DISPLAYED)
def test_a_displayed_formula_belongs_to_its_sentence(text: str) -> None:
    assert Extractor(language="en")(text).paragraphs == DISPLAYED[text]


def test_signs_of_a_formula_are_not_markup() -> None:
    text = "Both <math>|x|</math> and {{nowrap|<math>[[a]]</math>}} hold.\n\n<math>|y|</math> and <math>''</math> hold."
    assert Extractor(language="en")(text).paragraphs == ["Both |x| and [[a]] hold.", "|y| and ″ hold."]
    assert Extractor()("One \x04 holds. Two \x05 hold. Three &#4; holds.").paragraphs == ["One holds. Two hold. Three holds."]


def test_sentences_are_found_although_a_splitter_changes_spaces() -> None:
    def split(text: str) -> list[str]:
        return [" ".join(piece.split()) for piece in re.findall(r"[^.]+[.]?", text) if piece.strip()]

    text, formulas = f"One  a.{HOLE}{HOLE} two. Three  {HOLE}. Four  b. {HOLE}", Formulas("text")
    assert formulas.finish(text, text, split) == "One  a. Four  b." and formulas.sentences == 3


@pytest.mark.parametrize(
    ("wikitext", "shown", "without"),
    [
        ("10<sup>6</sup> m<sup>2</sup>", "10⁶ m²", "106 m2"),
        ("10<sup>&minus;6</sup> and Ca<SUP>2+</SUP>", "10⁻⁶ and Ca²⁺", "10−6 and Ca2+"),
        ("H<sub>2</sub>O, C<sub class=a>60</sub>", "H₂O, C₆₀", "H2O, C60"),
        ("the 1<sup>st</sup> of x<sub>max</sub>", "the 1st of xmax", "the 1st of xmax"),
        ("a<sup>1<ref>b</ref></sup> <sup>[2]</sup> 2<sup>3, मी<sup>२</sup>", "a1 [2] 23, मी२", "a1 [2] 23, मी२"),
    ],
)
def test_figures_outside_of_formulas(wikitext: str, shown: str, without: str) -> None:
    assert Extractor()(wikitext).paragraphs == [shown]
    assert Extractor(math="tex")(wikitext).paragraphs == [without]
