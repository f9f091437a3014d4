"""Language variants: which word of ``-{…}-`` is shown, and what the rules of a page do."""

from bertdata.text.wikitext import Extractor

ROWS = [
    ("the wiki's own order", "zh", "", "-{zh-hans:联邦州; zh-hant:邦}-", "联邦州"),
    ("the variant", "zh", "zh-tw", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("the nearest other", "zh", "zh-hk", "-{zh-cn:域;zh-tw:體}-", "體"),
    ("raw text", "zh", "zh-tw", "-{域}-与-{R|zh-cn:x}-", "域与zh-cn:x"),
    ("nothing between", "zh", "", "德国联-{}-邦议院", "德国联邦议院"),
    ("in a link", "zh", "", "[[域 (數學)|-{zh-cn:域;zh-tw:體}-]]等", "域等"),
    ("a rule that is shown", "zh", "zh-tw", "软件-{A|zh-cn:软件;zh-tw:軟體}-软件", "软件軟體軟體"),
    ("a rule that is not", "zh", "zh-tw", "-{H|zh-cn:软件;zh-tw:軟體}-用软件", "用軟體"),
    ("a rule taken back", "zh", "zh-tw", "-{H|zh-cn:a;zh-tw:b}-a-{-|zh-cn:a;zh-tw:b}-a", "ba"),
    ("a one-way rule", "zh", "zh-tw", "-{H|鼠标=>zh-tw:滑鼠}-鼠标", "滑鼠"),
    ("rules leave the wiki's own order alone", "zh", "", "-{H|zh-cn:软件;zh-tw:軟體}-用軟體", "用軟體"),
    ("a title", "zh", "", "-{T|zh-cn:a;zh-tw:b}-文", "文"),
    ("NoteTA", "zh", "zh-tw", "{{NoteTA|G1=IT|1=zh-cn:软件;zh-tw:軟體}}\n用软件", "用軟體"),
    ("nested", "zh", "zh-tw", "-{zh-cn:a-{b}-c;zh-tw:d-{e}-f}-", "def"),
    ("a semicolon in a word", "zh", "zh-cn", "-{zh-cn:a&lt;b;zh-tw:c}-", "a<b"),
    ("Serbian", "sr", "sr-el", "-{sr-ec:Београд;sr-el:Beograd}- x", "Beograd x"),
    ("flags of variants", "zh", "zh-cn", "-{zh-hant;zh-tw|面積}-", "面積"),
    ("the name of a variant", "zh", "zh-cn", "又称-{N|zh-tw}-", "又称臺灣正體"),
    ("a rule that is described", "zh", "zh-tw", "-{D|zh-cn:软件;zh-tw:軟體}-", "大陆简体：软件；臺灣正體：軟體；"),
    ("text that a rule keeps", "zh", "zh-tw", "-{H|zh-cn:干;zh-tw:乾}--{H|干城}-干城干", "干城乾"),
    ("a one-way rule for another variant", "zh", "zh-cn", "文-{A|鼠标=>zh-tw:滑鼠}-鼠标", "文鼠标"),
    ("the nearest of two one-way rules", "zh", "zh-hk", "-{H|a=>zh-tw:b;a=>zh-hk:c}-a", "c"),
    ("codes in capitals", "zh", "zh-tw", "-{ZH-CN:域;ZH-TW:體}-", "體"),
    (
        "NoteTA holds for the text before it",
        "zh",
        "zh-tw",
        "用软件\n{{NoteTA\n| T = zh-cn:x;zh-tw:y\n| 1 = zh-cn:软件;zh-tw:軟體\n}}",
        "用軟體",
    ),
    ("NoteTA under another name", "zh", "zh-tw", "{{NoteTA-lite|1=zh-hans:软件; zh-hant:軟體;}}用软件", "用軟體"),
    ("the title of NoteTA is not for the text", "zh", "zh-tw", "{{NoteTA|T=zh-cn:软件;zh-tw:軟體}}用软件", "用软件"),
    ("a rule from where it stands", "zh", "zh-tw", "软件-{A|zh-hans:软件;zh-hant:軟體}-。软件", "软件軟體。軟體"),
    ("in a template", "zh", "zh-tw", "文{{lang|zh|-{zh-cn:域;zh-tw:體}-}}", "文"),
    ("Kazakh", "kk", "kk-latn", "-{kk-cyrl:Алматы; kk-tr:Almatı}-", "Almatı"),
    ("Kurdish", "ku", "ku-arab", "-{ku-latn:Kurdî;ku-arab:کوردی}-", "کوردی"),
    ("Uzbek", "uz", "uz-cyrl", "-{uz-latn:Toshkent;uz-cyrl:Тошкент}-", "Тошкент"),
    ("Gan", "gan", "gan-hant", "-{gan-hans:赣语;gan-hant:贛語}-", "贛語"),
    ("Crimean Tatar", "crh", "crh-cyrl", "-{crh-latn:Qırım;crh-cyrl:Къырым}-", "Къырым"),
    ("Tachelhit", "shi", "shi-latn", "-{shi-tfng:ⵜⴰ;shi-latn:ta}-", "ta"),
    ("a rule of Serbian", "sr", "sr-el", "-{H|sr-ec:Вук; sr-el:Vuk}-Вук", "Vuk"),
    ("unclosed", "zh", "", "文-{字", "文-{字"),
]


def test_variants() -> None:
    for language, variant, text, expected in [row[1:] for row in ROWS]:
        assert Extractor(language=language, variant=variant)(text).paragraphs == [expected]
