"""Strings that tokenizer libraries are likely to disagree about. `engines` compares libraries on them before it uses one."""

from __future__ import annotations

__all__ = ["HARD_STRINGS"]

_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\u00a0\u1680\u2009\u2028\u2029\u202f\u205f\u3000"
_CONTROLS = "\x00\x01\x7f\x9f\u00ad\u180e\u200b\u200d\u200e\u2060\ufeff\ufffd\ue000\U000e0001"
_TEXTS = """\
e\u0301 e\u0323\u0301 \u0301a a\u0338\u034f\u20dd | é É ß ẞ ǅ İ ı ſ Σ ς ΐ ﬁ Å ﷺ ½ ² ㎏ ™ | 각 ᄀ ㄱ 한국어 \u1112\u1161\u11ab
豈㐀\U00020000\U0002a700 々〇ー ｶﾞ ＡＢ１。，、 | 他在北京读书。 他在清華大學讀書！ 東京タワーで、ひらがな
กาแฟเย็น ລາວ ភាសា မြန်မာ བོད | हिन्दी में क्षत्रिय। বাংলা தமிழ் മലയാളം | الْعَرَبِيَّة فارسی שָׁלוֹם יִדִּישׁ
Он не спал; Ґ Ӯ Ћ Ελληνικά ΑΒΓ ԱԲԳ ქართული አማርኛ
👩\u200d👩\u200d👧 🇫🇷🇩🇪 ☕\ufe0f 👍🏽 😀😀 | don't I'll WE'VE 'tis o'clock ’s “quoted” «q» ‘x’ … — – ‐ · •
_snake_case --x-- #a @b $5.00 50% | 1234567890 1,234.5 ²³ ١٢٣ | AbCdEf ALLCAPS camelCase iPhone McX
▁ Ġ ## <s> </s> <0x0A> ||| | [CLS] [SEP] [MASK] [UNK] [PAD] [unused0] <unk> <mask> <pad>
a.b,c;d:e!f?g(h)i[j]k{l}m<n>o/p\\q|r | http://example.org/a?b=c&d=e#f mail@example.org"""

HARD_STRINGS = (
    *("", "  two  spaces   three ", "\n\nLine\n\n\nbreaks \n x\r\n", " leading and trailing ", "\t\ttabs\t"),
    *(f"tea{space}time" for space in _SPACES),
    *(f"te{control}a {control} x" for control in _CONTROLS),
    *_TEXTS.replace("\n", " | ").split(" | "),
    "x" * 101 + " " + "y" * 100 + " " + "z" * 5000,
)
