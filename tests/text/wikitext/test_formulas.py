"""Formulas in tags and templates: what is shown for every construct, and what becomes of a sentence with one that is not."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bertdata.text.wikitext import Extractor, extract_paragraphs, load_templates
from bertdata.text.wikitext.formulas import CHOICES, drop_sentences, tex_to_text
from bertdata.text.wikitext.marks import BITS, HOLE

TEX = [  # a formula, and what is shown for it; None where text cannot hold it
    # Letters, figures and signs.
    ("x", "x"),
    ("E=mc^2", "E = mc²"),
    ("a+b-c", "a + b − c"),
    ("-1", "−1"),
    ("x=-1", "x = −1"),
    ("a\\cdot b\\times c", "a · b × c"),
    ("2 x y", "2xy"),
    ("3{,}14", "3,14"),
    ("3,14", "3,14"),
    ("f(x,y)", "f(x, y)"),
    ("1, 2, \\ldots, n", "1, 2, …, n"),
    ("1, 2, ..., n", "1, 2, …, n"),
    ("n!", "n!"),
    ("5\\%", "5%"),
    ("a:b", "a : b"),
    ("f\\colon A\\to B", "f : A → B"),
    ("a < b &lt; c", "a < b < c"),
    ("x \\le y \\ne z", "x ≤ y ≠ z"),
    ("a \\not= b", "a ≠ b"),
    ("a \\not\\in B", "a ∉ B"),
    ("a~b", "a b"),
    ("a\\,b\\;c\\quad d\\!e", "a b c de"),
    ("5\\,\\mathrm{km}", "5 km"),
    ("x % a comment\n+1", "x + 1"),
    ("\u044f+1", "\u044f + 1"),
    ("|x|+|-y|", "|x| + |−y|"),
    ("\\|v\\|", "‖v‖"),
    ("A \\mid B", "A | B"),
    ("\\{a, b\\}", "{a, b}"),
    ("\\left(\\frac{1}{2}\\right)", "(1/2)"),
    ("\\left.x\\right|", "x|"),
    ("\\left<x\\right>", "⟨x⟩"),
    ("\\big(x\\big)", "(x)"),
    ("\\langle u, v\\rangle", "⟨u, v⟩"),
    ("\\lfloor x\\rfloor", "⌊x⌋"),
    ("\\alpha\\beta\\Gamma\\varepsilon", "αβΓε"),
    ("\\infty", "∞"),
    ("\\forall x\\exists y", "∀x∃y"),
    ("A\\cup B\\subseteq C", "A ∪ B ⊆ C"),
    ("p\\Rightarrow q\\iff r", "p ⇒ q ⟺ r"),
    # Superscripts and subscripts.
    ("x_1", "x₁"),
    ("x_{ij}^{2n}", "xᵢⱼ²ⁿ"),
    ("x^{-1}", "x⁻¹"),
    ("x^{n+1}", "xⁿ⁺¹"),
    ("x'", "x′"),
    ("x''(t)", "x″(t)"),
    ("x^\\prime", "x′"),
    ("90^\\circ", "90°"),
    ("20\\,^{\\circ}\\mathrm{C}", "20 °C"),
    ("x^*", "x*"),
    ("v_{\\text{max}}", "vₘₐₓ"),
    ("a_\\beta", "aᵦ"),
    ("{}^{14}_6C", "¹⁴₆C"),
    ("n\\ +\\ ^{14}_{\\ 6}C", "n + ¹⁴₆C"),
    ("\\left(\\ x\\right)", "(x)"),
    ("(a+b)^2", "(a + b)²"),
    ("\\left(\\frac{a}{b}\\right)^2", "(a/b)²"),
    ("\\frac{a}{b}^2", "(a/b)²"),
    ("e^{x^2}", None),
    ("T_c", None),
    ("x_B", None),
    ("x_{i,j}", "xᵢ,ⱼ"),
    ("x_{1,2}^{a, b}", "x₁,₂ᵃ,ᵇ"),
    ("u_{,x}", None),
    ("x_{i,b}", None),
    ("x^{1/2}", None),
    ("e^{\\alpha}", None),
    # Fractions and roots.
    ("\\frac{1}{2}", "1/2"),
    ("\\frac12", "1/2"),
    ("\\tfrac{a+b}{c}", "(a + b)/c"),
    ("\\dfrac{ab}{c}", "ab/c"),
    ("\\frac{a}{bc}", "a/(bc)"),
    ("\\frac{a}{2n}", "a/(2n)"),
    ("\\frac{a}{b+c}", "a/(b + c)"),
    ("\\frac{a}{f(x)}", "a/f(x)"),
    ("\\frac{a}{(b+c)}", "a/(b + c)"),
    ("\\frac{a}{(b+c)(d)}", "a/((b + c)(d))"),
    ("\\frac{dy}{dx}", "dy/dx"),
    ("\\frac{\\partial f}{\\partial x_i}", "∂f/∂xᵢ"),
    ("\\frac{d^2 s}{dt^2}", "d²s/dt²"),
    ("\\frac{\\frac{a}{b}}{c}", "(a/b)/c"),
    ("2\\frac{1}{2}", "2 1/2"),
    ("\\frac{1}{2}mv^2", "1/2 mv²"),
    ("-\\frac{1}{2}", "−1/2"),
    ("{a \\over b}", "a/b"),
    ("a+1 \\over b", "(a + 1)/b"),
    ("\\frac{|x|}{x}.", "|x|/x."),
    ("\\sqrt{2}", "√2"),
    ("\\sqrt 2", "√2"),
    ("\\sqrt{x+1}", "√(x + 1)"),
    ("\\sqrt{2\\pi}", "√(2π)"),
    ("\\sqrt{(a-b)^2}", "√((a − b)²)"),
    ("\\sqrt[3]{x}", "∛x"),
    ("\\sqrt[n]{x}", "ⁿ√x"),
    ("\\frac{1}{}", None),
    # Functions and large signs.
    ("\\sin x", "sin x"),
    ("2\\sin(x)", "2 sin(x)"),
    ("\\sin^2\\theta+\\cos^2\\theta=1", "sin² θ + cos² θ = 1"),
    ("\\log_2 n", "log₂ n"),
    ("\\operatorname{sgn}x", "sgn x"),
    ("a \\bmod n", "a mod n"),
    ("a\\equiv b\\pmod{n}", "a ≡ b (mod n)"),
    ("\\sum_{i=1}^n i", "∑ᵢ₌₁ⁿ i"),
    ("\\sum\\limits_{k} a_k", "∑ₖ aₖ"),
    ("\\int_0^1 f(x)\\,dx", "∫₀¹ f(x) dx"),
    ("\\prod x_i", "∏ xᵢ"),
    ("\\lim_{x\\to 0} f", None),
    ("\\sum_{n=0}^\\infty a_n", None),
    # Letters of other kinds, accents and text.
    ("\\mathbf{x}+\\vec v", "x + v⃗"),
    ("\\mathbb{R}^n", "ℝⁿ"),
    ("\\mathbb A", "𝔸"),
    ("\\mathcal{L}", "ℒ"),
    ("\\mathfrak{g}", "𝔤"),
    ("\\bar{x}", "x̄"),
    ("\\hat{a}_i", "âᵢ"),
    ("\\dot x", "ẋ"),
    ("\\ddot{x}", "ẍ"),
    ("\\tilde n", "ñ"),
    ("\\overline{AB}", "A̅B̅"),
    ("\\hat{xy}", None),
    ("x\\text{ if }y", "x if y"),
    ("\\mbox{speed} = 5", "speed = 5"),
    ("\\text{a $x$}", None),
    ("{\\rm d}x", "dx"),
    ("\\color{red}x", "x"),
    ("\\textcolor{red}{x}", "x"),
    ("\\displaystyle x", "x"),
    ("x \\label{eq}", "x"),
    ("x=1 \\tag{2}", "x = 1 (2)"),
    ("\\ce{H2O}", "H₂O"),
    ("\\xrightarrow{}", "→"),
    ("A\\xrightarrow{f}B", "A —f→ B"),
    ("\\mathrm{Pu}\\xrightarrow[14\\ \\mathrm{yr}]{\\beta^-}\\mathrm{Am}", "Pu —β⁻; 14 yr→ Am"),
    ("A\\xleftarrow[g]{}B", "A ←g— B"),
    ("A\\stackrel{f}{\\longrightarrow}B", "A —f→ B"),
    ("u\\stackrel{*}{\\Rightarrow}v", "u ⇒* v"),
    ("f \\overset{\\text{def}}{=} g", "f ≝ g"),
    ("f \\stackrel{?}{=} g", "f ≟ g"),
    ("\\overset{x}{y}", None),
    ("\\underset{x}{\\to}", None),
    # Several lines.
    ("|x|=\\begin{cases}x,&\\text{if }x\\ge 0\\\\-x,&\\text{if }x<0.\\end{cases}", "|x| = {x, if x ≥ 0; −x, if x < 0}."),
    ("\\begin{cases}1&x>0\\\\0\\end{cases}", "{1, x > 0; 0}"),
    ("\\begin{align}a&=b\\\\&=c+1\\end{align}", "a = b = c + 1"),
    ("\\begin{align*}a&=1,\\\\[2pt]b&=2.\\end{align*}", "a = 1, b = 2."),
    ("\\begin{alignat}{2}a&=1\\\\b&=2\\end{alignat}", "a = 1; b = 2"),
    ("\\begin{gather}a\\\\ [b] \\end{gather}", "a; [b]"),
    ("\\left\\{\\begin{aligned}a&=1\\\\b&=2\\end{aligned}\\right.", None),
    ("\\begin{cases}\\end{cases}", None),
    ("\\begin{align}a\\end{split}", None),
    ("\\begin{align}a", None),
    ("\\begin{align}\\frac{a\\\\b}{c}\\end{align}", None),
    ("a\\end{align}", None),
    # What no line of text holds, and what is no formula.
    ("\\begin{matrix}a&b\\\\c&d\\end{matrix}", None),
    ("\\begin{array}{l}a\\\\b\\end{array}", None),
    ("a \\\\ b", None),
    ("\\binom{n}{k}", None),
    ("\\underbrace{x}_n", None),
    ("\\nosuchcommand", None),
    ("x^", None),
    ("{x", None),
    ("x}", None),
    ("\\frac{1}", None),
    ("\\sqrt[3", None),
    ("\\text{", None),
    ("a & b", None),
    ("$x$", None),
    ("", ""),
]
CHEMISTRY = [
    ("H2O", "H₂O"),
    ("2 H2 + O2 -> 2 H2O", "2 H₂ + O₂ → 2 H₂O"),
    ("A <=> B", "A ⇌ B"),
    ("Na+", "Na⁺"),
    ("SO4^2-", "SO₄²⁻"),
    ("SO4(2-)", "SO₄²⁻"),
    ("Fe^{3+}", "Fe³⁺"),
    ("^{14}C", "¹⁴C"),
    ("^{227}_{90}Th", "²²⁷₉₀Th"),
    ("Ca(OH)2", "Ca(OH)₂"),
    ("[Fe(CN)6]^4-", "[Fe(CN)₆]⁴⁻"),
    ("CuSO4.5H2O", "CuSO₄·5H₂O"),
    ("CH3-CH2-OH", "CH₃-CH₂-OH"),
    ("HC#CH", "HC≡CH"),
    ("CO2 ^", "CO₂ ↑"),
    ("NaCl(aq)", "NaCl(aq)"),
    ("C_{n}H_{2n}", "CₙH₂ₙ"),
    ("A ->[heat] B", None),
    ("$x$", None),
    ("A_B", None),
]
TEMPLATES = [
    ("{{math|''E'' {{=}} ''mc''<sup>2</sup>}}", "E = mc²"),
    ("{{math|''x''<sub>1</sub>}}", "x₁"),
    ("{{math|1=''a'' = ''b''<sup>&minus;1</sup>}}", "a = b⁻¹"),
    ("{{math|''T''<sub>c</sub>}}", None),
    ("{{mvar|x}}", "x"),
    ("{{tmath|\\frac{a}{b} }}", "a/b"),
    ("{{tmath|e^{\\alpha} }}", None),
    ("{{frac|1|2}}", "1⁄2"),
    ("{{frac|2|1|2}}", "2 1⁄2"),
    ("{{sfrac|a|b}}", "a/b"),
    ("{{sqrt|2}}", "√2"),
    ("{{sqrt|''a'' + ''b''}}", "√(a + b)"),
    ("{{radic|2|3}}", "³√2"),
    ("{{math|{{sqrt|2}}<sup>2</sup>}}", "√2²"),
    ("{{chem|H|2|O}}", "H₂O"),
    ("{{chem|SO|4|2-}}", "SO₄²⁻"),
    ("{{chem2|Fe2(SO4)3}}", "Fe₂(SO₄)₃"),
    ("{{chem2|SO4(2-)}}", "SO₄²⁻"),
    ("{{chem2|A_{B} }}", None),
    ("{{su|p=2|b=1}}", "²₁"),
]


def extract(wikitext: str, math: str = "text", counts: Counter[tuple[str, str]] | None = None, language: str = "en") -> list[str]:
    found = Extractor(language=language, templates=load_templates(language), math=math)(wikitext)
    if counts is not None:
        counts.update(found.formulas)
    return found.paragraphs


def test_tex() -> None:
    for tex, shown in TEX:
        assert tex_to_text(tex) == shown, tex


FORMULAS = [
    *((f"<math>{tex}</math>", shown) for tex, shown in TEX if shown),
    *((f"<{tag}>{formula}</{tag}>", shown) for formula, shown in CHEMISTRY for tag in ("chem", "ce")),
    *TEMPLATES,
]


def test_a_formula_stands_in_its_sentence_or_the_sentence_goes() -> None:
    for formula, shown in FORMULAS:
        counts: Counter[tuple[str, str]] = Counter()
        found = extract(f"One holds. Then {formula} holds, too. The last one holds.", counts=counts)
        middle = "" if shown is None else f"Then {shown} holds, too. "
        assert found == [f"One holds. {middle}The last one holds."]
        assert counts["sentences", ""] == (shown is None)
        assert adds_up(counts)


def adds_up(counts: Counter[tuple[str, str]]) -> bool:
    names = {name for what, name in counts if what == "found"}
    parts = ("written", "dropped", "left_out")
    return all(counts["found", name] == sum(counts[part, name] for part in parts) for name in names)


CHOSEN = [
    (
        "text",
        ["La formule E = mc² est célèbre.", "Ici αₓ."],
        {("found", "math"): 3, ("written", "math"): 2, ("dropped", "math"): 1, ("sentences", ""): 1},
    ),
    ("tex", ["La formule E=mc^2 est célèbre. On a T_c ici.", r"Ici \alpha_x."], {("found", "math"): 3, ("written", "math"): 3}),
    ("drop-sentence", [], {("found", "math"): 3, ("dropped", "math"): 3, ("sentences", ""): 3}),
    ("drop", ["La formule est célèbre. On a ici.", "Ici."], {("found", "math"): 3, ("dropped", "math"): 3}),
]


@pytest.mark.parametrize(("math", "paragraphs", "counted"), CHOSEN, ids=[row[0] for row in CHOSEN])
def test_choices(math: str, paragraphs: list[str], counted: dict[tuple[str, str], int]) -> None:
    text = "La formule <math>E=mc^2</math> est célèbre. On a <math>T_c</math> ici.\n\nIci <math>\\alpha_x</math>."
    counts: Counter[tuple[str, str]] = Counter()
    assert extract(text, math, counts, "fr") == paragraphs
    assert counts == counted


@pytest.mark.parametrize("math", CHOICES)
def test_formulas_of_what_is_no_prose_are_counted_apart(math: str) -> None:
    text = (
        "One <math>a</math> holds.\n{|\n| <math>b</math> || {{math|c}}\n|}\n* <math>d</math>\n== <math>e</math> ==\n"
        "Two <math>\\alpha_x</math> holds. Three {{math|{{frac|1|2}}<sup>&</sup>}} holds, {{math|f}} as well."
    )
    counts: Counter[tuple[str, str]] = Counter()
    found = extract(text, math, counts)
    assert adds_up(counts) and counts["left_out", "math"] == (3 if math == "drop" else 4)
    assert counts["found", "math"] == (5 if math == "drop" else 8)
    assert not any(set(paragraph) & set(BITS) for paragraph in found)


def test_choices_are_those_of_the_option() -> None:
    assert [row[0] for row in CHOSEN] == list(CHOICES)
    with pytest.raises(ValueError, match="math is 'latex'"):
        extract("a", "latex")


@pytest.mark.parametrize("math", ["text", "tex", "drop-sentence"])
def test_templates_follow_the_choice(math: str) -> None:
    text = "One holds. The {{math|''T''<sub>c</sub>}} is {{frac|1|2}}. It ends."
    shown = {"tex": "One holds. The T_{c} is 1⁄2. It ends."}.get(math, "One holds. It ends.")
    assert extract(text, math) == [shown]
    assert extract(text, "drop") == ["One holds. The Tc is 1⁄2. It ends."]


DISPLAYED = [
    ("Energy is given by\n:<math>E=mc^2</math>\nwhere c is a speed.", ["Energy is given by E = mc² where c is a speed."]),
    ("Energy is given by\n\n: <math>E=mc^2.</math>\n\nIt is large.", ["Energy is given by E = mc².", "It is large."]),
    ("Energy is given by\n\n::<math>E=mc^2,</math>\n\nwhere c is a speed.", ["Energy is given by E = mc², where c is a speed."]),
    ("It is given by:\n<math display=block>x=1</math>\nThe rest follows.", ["It is given by: x = 1", "The rest follows."]),
    ("It is given by:\n <math>x=1</math>\nThe rest follows.", ["It is given by: x = 1", "The rest follows."]),
    ("It is given by\n<center><math>x=1</math></center>\nfor all.", ["It is given by x = 1 for all."]),
    ("It is\n:<math>x=1</math>\n:<math>y=2.</math>\nThe end.", ["It is x = 1 y = 2.", "The end."]),
    ("It is\n:<math>x_B</math>\nwhere c is a speed. So we end.", ["So we end."]),
    ("It was so. It is\n:<math>x_B.</math>\nThe rest follows.", ["It was so.", "The rest follows."]),
    ("It is known.\n:<math>x=1</math>\nThe rest follows.", ["It is known.", "The rest follows."]),
    ("== Head ==\n:<math>x=1</math>\n\nwhere c is a speed.", ["where c is a speed."]),
    ("It is\n:{{math|''x'' {{=}} 1}}\nwhere c is a speed.", ["It is x = 1 where c is a speed."]),
    ("これは\n:<math>x=1</math>\nで表される。", ["これは x = 1 で表される。"]),
    ("It is\n: some words\nThe rest follows.", ["It is", "The rest follows."]),
    ("It is\n* <math>x=1</math>\nThe rest follows.", ["It is", "The rest follows."]),
    ("<math>x=1</math>", []),
    ("<math>x=1</math> holds.", ["x = 1 holds."]),
]


@pytest.mark.parametrize(("text", "paragraphs"), DISPLAYED)
def test_a_displayed_formula_belongs_to_its_sentence(text: str, paragraphs: list[str]) -> None:
    assert extract(text) == paragraphs


def test_signs_of_a_formula_are_no_markup() -> None:
    text = "Both <math>|x|</math> and {{nowrap|<math>[[a]]</math>}} hold.\n\n<math>|y|</math> and <math>''</math> hold."
    assert extract(text) == ["Both |x| and [[a]] hold.", "|y| and ″ hold."]


def test_own_sign_of_a_hole_is_no_hole() -> None:
    assert extract("One \x04 holds. Two \x05 hold.") == ["One holds. Two hold."]
    assert extract("One &#4; holds.") == ["One holds."]


def test_a_sentence_is_cut_by_the_function_that_is_given() -> None:
    def split(paragraph: str, language: str) -> list[str]:
        assert "\x04" not in paragraph and language == "en"
        return [piece.strip() for piece in re.findall("[^;]+;?", paragraph)]

    found = Extractor(language="en", math="text", split=split)("a b;  c <math>x_B</math> d; e f")
    assert found.paragraphs == ["a b; e f"]


def test_sentences_are_found_though_a_splitter_changes_white_space() -> None:
    def split(text: str) -> list[str]:
        return [" ".join(piece.split()) for piece in re.findall(r"[^.]+[.]?", text) if piece.strip()]

    assert drop_sentences(f"One  a.{HOLE}{HOLE} two. Three  {HOLE}. Four  b. {HOLE}", split) == ("One  a. Four  b.", 3)


@pytest.mark.parametrize(
    ("wikitext", "shown", "without"),
    [
        ("10<sup>6</sup> m<sup>2</sup>", "10⁶ m²", "106 m2"),
        ("10<sup>&minus;6</sup> and Ca<SUP>2+</SUP>", "10⁻⁶ and Ca²⁺", "10−6 and Ca2+"),
        ("H<sub>2</sub>O, C<sub class=a>60</sub>", "H₂O, C₆₀", "H2O, C60"),
        ("the 1<sup>st</sup> of x<sub>max</sub>", "the 1st of xmax", "the 1st of xmax"),
        ("a<sup>1<ref>b</ref></sup> <sup>[2]</sup> 2<sup>3", "a1 [2] 23", "a1 [2] 23"),
    ],
)
def test_figures_outside_of_formulas(wikitext: str, shown: str, without: str) -> None:
    assert Extractor(math="text")(wikitext).paragraphs == [shown]
    assert Extractor(math="tex")(wikitext).paragraphs == extract_paragraphs(wikitext) == [without]
