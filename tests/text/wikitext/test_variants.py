"""Language variants: which word of ``-{…}-`` is shown."""

from footing import Extractor

ROWS = [
    ("the own order of the wiki", "zh", "", "-{zh-hans:联邦州; zh-hant:邦}-", "联邦州"),
    ("the variant", "zh", "zh-tw", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("the nearest other", "zh", "zh-hk", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("raw text", "zh", "zh-tw", "-{域}-与-{R|zh-cn:x}-", "域与zh-cn:x"),
    ("nothing between", "zh", "", "德国联-{}-邦议院", "德国联邦议院"),
    ("in a link", "zh", "", "[[域 (數學)|-{zh-cn:域;zh-tw:體}-]]等", "域等"),
    ("a title", "zh", "", "-{T|zh-cn:a;zh-tw:b}-文", "文"),
    ("nested", "zh", "zh-tw", "-{zh-cn:a-{b}-c;zh-tw:d-{e}-f}-", "def"),
    ("a semicolon in a word", "zh", "zh-cn", "-{zh-cn:a&lt;b;zh-tw:c}-", "a<b"),
    ("Serbian", "sr", "sr-el", "-{sr-ec:Београд;sr-el:Beograd}- x", "Beograd x"),
    ("flags of variants", "zh", "zh-cn", "-{zh-hant;zh-tw|面積}-", "面積"),
    ("codes in capitals", "zh", "zh-tw", "-{ZH-CN:域;ZH-TW:體}-", "體"),
    ("in a template", "zh", "zh-tw", "文{{lang|zh|-{zh-cn:域;zh-tw:體}-}}", "文"),
    ("Kazakh", "kk", "kk-latn", "-{kk-cyrl:Алматы; kk-tr:Almatı}-", "Almatı"),
    ("Kurdish", "ku", "ku-arab", "-{ku-latn:Kurdî;ku-arab:کوردی}-", "کوردی"),
    ("Uzbek", "uz", "uz-cyrl", "-{uz-latn:Toshkent;uz-cyrl:Тошкент}-", "Тошкент"),
    ("Gan", "gan", "gan-hant", "-{gan-hans:赣语;gan-hant:贛語}-", "贛語"),
    ("Crimean Tatar", "crh", "crh-cyrl", "-{crh-latn:Qırım;crh-cyrl:Къырым}-", "Къырым"),
    ("Tachelhit", "shi", "shi-latn", "-{shi-tfng:ⵜⴰ;shi-latn:ta}-", "ta"),
    ("unclosed", "zh", "", "文-{字", "文-{字"),
    ("a rule that is shown", "zh", "zh-tw", "软件-{A|zh-cn:软件;zh-tw:軟體}-软件", "软件軟體软件"),
    ("a rule that is not shown", "zh", "zh-tw", "-{H|zh-cn:a;zh-tw:b}--{-|zh-cn:a;zh-tw:b}--{T|zh-cn:a;zh-tw:b}-用", "用"),
    ("a one-way rule", "zh", "zh-hk", "文-{A|鼠标=>zh-tw:滑鼠}-", "文滑鼠"),
]


def test_variants() -> None:
    for language, variant, text, expected in [row[1:] for row in ROWS]:
        assert Extractor(language=language, variant=variant)(text).paragraphs == [expected]
