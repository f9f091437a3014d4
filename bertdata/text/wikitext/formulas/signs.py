r"""Unicode text of TeX commands and characters, with their kinds, which determine spacing.

The names are from MediaWiki's Math extension (https://www.mediawiki.org/wiki/Extension:Math/Syntax).

>>> SIGNS["alpha"], SIGNS["le"], SIGNS["sin"]
(('α', 'letter'), ('≤', 'relation'), ('sin', 'name'))
"""

from __future__ import annotations

import unicodedata

__all__ = [
    "ACCENTS", "BINARY", "CLOSE", "LARGE", "LETTER", "NAME", "NOTHING", "OPEN", "POSTFIX", "PUNCTUATION", "RELATION", "SIGNS",
    "SPACE", "STYLES", "alphabet",
]  # fmt: skip

LETTER, BINARY, RELATION, OPEN, CLOSE, PUNCTUATION, NAME, LARGE, SPACE, POSTFIX = (
    "letter", "binary", "relation", "open", "close", "punctuation", "name", "large", "space", "postfix",
)  # fmt: skip

_TABLE = {
    LETTER: r"""
        alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ varkappa ϰ lambda λ
        mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω
        Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Pi Π Rho Ρ Sigma Σ
        Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω varGamma Γ varDelta Δ varTheta Θ varLambda Λ varXi Ξ varPi Π varSigma Σ
        varPhi Φ varPsi Ψ varOmega Ω digamma ϝ partial ∂ nabla ∇ infty ∞ infin ∞ hbar ℏ hslash ℏ ell ℓ imath ı jmath ȷ Re ℜ Im ℑ
        real ℜ image ℑ wp ℘ weierp ℘ aleph ℵ alef ℵ alefsym ℵ beth ℶ gimel ℷ daleth ℸ emptyset ∅ varnothing ∅ empty ∅ O ∅ forall ∀
        exists ∃ exist ∃ nexists ∄ neg ¬ lnot ¬ top ⊤ bot ⊥ angle ∠ measuredangle ∡ sphericalangle ∢ triangle △ Box □ square □
        Diamond ◇ lozenge ◊ blacksquare ■ bigstar ★ clubsuit ♣ clubs ♣ diamondsuit ♢ diamonds ♢ heartsuit ♡ hearts ♡ spadesuit ♠
        spades ♠ flat ♭ natural ♮ sharp ♯ eth ð mho ℧ complement ∁ N ℕ R ℝ Z ℤ C ℂ Q ℚ H ℍ natnums ℕ reals ℝ Reals ℝ Complex ℂ
        cnums ℂ P ¶ S § sect § pounds £ euro € copyright © dots … ldots … dotsc … dotso … hellip … cdots ⋯ dotsb ⋯ dotsm ⋯ dotsi ⋯
        vdots ⋮ ddots ⋱ backslash \ _ _ & & # # $ $ AA Å checkmark ✓ surd √ Bbbk 𝕜 ominus ⊖ degree °
    """,
    POSTFIX: r"prime ′ % % degree °",
    BINARY: r"""
        pm ± plusmn ±
        mp ∓ times × div ÷ cdot · sdot · ast ∗ star ⋆ circ ∘ bullet ∙ bull ∙ cap ∩ cup ∪ sqcap ⊓ sqcup ⊔ wedge ∧ land ∧
        and ∧ vee ∨ lor ∨ or ∨ setminus ∖ smallsetminus ∖ oplus ⊕ otimes ⊗ odot ⊙ oslash ⊘ uplus ⊎ amalg ⨿ wr ≀ dagger † ddagger ‡
        ltimes ⋉ rtimes ⋊ bmod mod barwedge ⊼ veebar ⊻ boxplus ⊞ boxtimes ⊠ triangleleft ◁ triangleright ▷ diamond ⋄ dotplus ∔
    """,
    RELATION: r"""
        le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾ lt < gt > ll ≪ gg ≫ lll ⋘ ggg ⋙ ne ≠ neq ≠ equiv ≡ sim ∼ thicksim ∼ simeq ≃
        approx ≈ thickapprox ≈ cong ≅ propto ∝ varpropto ∝ asymp ≍ doteq ≐ triangleq ≜ coloneqq ≔ in ∈ isin ∈ ni ∋ notin ∉
        subset ⊂ sub ⊂ subseteq ⊆ sube ⊆ subsetneq ⊊ supset ⊃ supseteq ⊇ supe ⊇ supsetneq ⊋ sqsubset ⊏ sqsubseteq ⊑ sqsupseteq ⊒
        to → rightarrow → rarr → longrightarrow ⟶ gets ← leftarrow ← larr ← longleftarrow ⟵ leftrightarrow ↔ lrarr ↔ harr ↔
        longleftrightarrow ⟷ Rightarrow ⇒ rArr ⇒ Longrightarrow ⟹ implies ⟹ Leftarrow ⇐ lArr ⇐ Longleftarrow ⟸ impliedby ⟸
        Leftrightarrow ⇔ lrArr ⇔ hArr ⇔ Harr ⇔ iff ⟺ Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼ hookrightarrow ↪ hookleftarrow ↩
        rightharpoonup ⇀ rightharpoondown ⇁ leftharpoonup ↼ rightleftharpoons ⇌ leftrightharpoons ⇋ rightrightarrows ⇉ uparrow ↑
        uarr ↑ downarrow ↓ darr ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ twoheadrightarrow ↠
        rightsquigarrow ⇝ leadsto ⇝ restriction ↾ upharpoonright ↾ mid | nmid ∤ parallel ∥ nparallel ∦ perp ⊥ vdash ⊢ dashv ⊣
        models ⊨ vDash ⊨ Vdash ⊩ prec ≺ preceq ⪯ succ ≻ succeq ⪰ preccurlyeq ≼ succcurlyeq ≽ lesssim ≲ gtrsim ≳ lhd ⊲ rhd ⊳
        unlhd ⊴ unrhd ⊵ trianglelefteq ⊴ trianglerighteq ⊵ bowtie ⋈ smile ⌣ frown ⌢ therefore ∴ because ∵ colon : nless ≮ ngtr ≯
        nleq ≰ ngeq ≱ nsubseteq ⊈ nsupseteq ⊉ ncong ≇ nsim ≁ nrightarrow ↛ vartriangleleft ⊲ vartriangleright ⊳ Vert ‖
    """,
    OPEN: r"{ { lbrace { lbrack [ langle ⟨ lang ⟨ lfloor ⌊ lceil ⌈ lvert | lVert ‖ llbracket ⟦",
    CLOSE: r"} } rbrace } rbrack ] rangle ⟩ rang ⟩ rfloor ⌋ rceil ⌉ rvert | rVert ‖ rrbracket ⟧",
    NAME: r"""
        sin sin cos cos tan tan cot cot sec sec csc csc sinh sinh cosh cosh tanh tanh coth coth arcsin arcsin arccos arccos
        arctan arctan arccot arccot arcsec arcsec arccsc arccsc arg arg deg deg det det dim dim exp exp gcd gcd hom hom inf inf
        ker ker lg lg lim lim ln ln log log max max min min Pr Pr sup sup sgn sgn limsup lim_sup liminf lim_inf injlim inj_lim
        projlim proj_lim mod mod
    """,
    LARGE: r"""
        sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯ bigcap ⋂ bigcup ⋃ bigwedge ⋀ bigvee ⋁ bigoplus ⨁ bigotimes ⨂
        bigodot ⨀ biguplus ⨄ bigsqcup ⨆ intop ∫
    """,
}  # fmt: skip
SIGNS: dict[str, tuple[str, str]] = {}
for _kind, _words in _TABLE.items():
    _list = _words.split()
    SIGNS.update(
        (name, (sign.replace("_", " ") if name != "_" else sign, _kind))
        for name, sign in zip(_list[::2], _list[1::2], strict=True)
    )
SIGNS["|"] = ("‖", LETTER)
SIGNS |= dict.fromkeys((",", ";", ":", ">", " ", "\n", "quad", "qquad", "thinspace", "medspace", "enspace", "nbsp"), (" ", SPACE))

# Commands that change appearance, position or size, and have no text.
_NOTHING = """
    ! displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits left right middle big Big bigg Bigg bigl bigr Bigl Bigr
    biggl biggr Biggl Biggr bigm Bigm rm bf it cal mathstrut strut nonumber tiny small scriptsize large Large negthinspace
"""
NOTHING = frozenset(_NOTHING.split())
_LIKE_ALL = """
    mathrm mathbf mathit mathsf mathtt mathnormal boldsymbol bold pmb mathop mathbin mathrel mathord mathopen mathclose
    mathpunct mathinner smash vcenter bm
"""
# Commands that show their argument, in a special alphabet if Unicode has it, otherwise unchanged.
STYLES: dict[str, str] = {
    **dict.fromkeys(_LIKE_ALL.split(), ""),
    "mathbb": "DOUBLE-STRUCK",
    "Bbb": "DOUBLE-STRUCK",
    "mathcal": "SCRIPT",
    "mathscr": "SCRIPT",
    "mathfrak": "FRAKTUR",
}
# The combining character of each accent, and whether it may be over several letters in a row.
ACCENTS: dict[str, tuple[str, bool]] = {
    "bar": ("\u0304", False), "hat": ("\u0302", False), "widehat": ("\u0302", False), "tilde": ("\u0303", False),
    "widetilde": ("\u0303", False), "dot": ("\u0307", False), "ddot": ("\u0308", False), "dddot": ("\u20db", False),
    "vec": ("\u20d7", False), "overrightarrow": ("\u20d7", False), "check": ("\u030c", False), "acute": ("\u0301", False),
    "grave": ("\u0300", False), "breve": ("\u0306", False), "mathring": ("\u030a", False), "overline": ("\u0305", True),
    "underline": ("\u0332", True),
}  # fmt: skip


def alphabet(style: str, letter: str) -> str:
    """Return a letter in another alphabet, by its Unicode name; if there is none, return the letter.

    >>> alphabet("DOUBLE-STRUCK", "R"), alphabet("FRAKTUR", "g"), alphabet("SCRIPT", "λ")
    ('ℝ', '𝔤', 'λ')
    """
    if not (style and letter.isascii() and letter.isalpha()):
        return letter
    size = "CAPITAL" if letter.isupper() else "SMALL"
    for kind in (f"MATHEMATICAL {style}", style, {"FRAKTUR": "BLACK-LETTER"}.get(style, style)):
        try:
            return unicodedata.lookup(f"{kind} {size} {letter}")
        except KeyError:
            continue
    return letter
