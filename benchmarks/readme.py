"""List the rows of docs/benchmarks.json that README.md shows, and their names in README.zh-CN.md.

`SHOWN` lists rows by quantity and peer, in README's order. `CHINESE` has translations of the table's phrases.
"""

from __future__ import annotations

__all__ = ["CHINESE", "SHOWN"]

SHOWN = {
    ("extracting prose from Wikipedia pages, one core", "mwparserfromhell"): "单核抽取维基百科页面正文",
    ("extracted words compared with MediaWiki's rendering", "mwparserfromhell"): "与 MediaWiki 自身渲染结果相比，抽取出的词",
    ("English to ids, WordPiece, new text, one core", "tokenizers"): "单核，英文 WordPiece 分词并转为 id，未见过的词",
    ("English to ids, WordPiece, seen words, one core", "tokenizers"): "单核，英文 WordPiece 分词并转为 id，已见过的词",
    ("English to ids, WordPiece, new text, one core", "nanotoken"): "单核，英文 WordPiece 分词并转为 id，未见过的词",
    ("English to ids, byte-level BPE, new text, one core", "gigatoken"): "单核，英文字节级 BPE 分词并转为 id，未见过的词",
    (
        "label leakage through lengths and positions, 128 tokens",
        "BERT's own algorithm",
    ): "仅凭长度和位置判断句对标签，128 个 token",
    ("IsNext pairs in which B does follow A, 128 tokens", "BERT's own algorithm"): "IsNext 句对中 B 真正紧接 A，128 个 token",
    ("padded and masked batches, 2 workers", "litdata and a NumPy collator"): "填充并掩码的 batch，2 个 worker",
    (
        "packed rows of 1024, masked, unpadded, 0 workers",
        "litdata and a NumPy collator",
    ): "打包成 1,024 的行，掩码且无填充，不用 worker",
    (
        "packed rows of 1024, masked, unpadded, 2 workers",
        "litdata and a NumPy collator",
    ): "打包成 1,024 的行，掩码且无填充，2 个 worker",
    ("training step, tiny BERT, 16 x 128", "transformers, masked positions"): "单步训练耗时，tiny BERT，16 × 128",
}

CHINESE = {
    **{what: told for (what, _), told in SHOWN.items()},
    "baseline": "对照",
    "ratio (min to max)": "倍数（最低至最高）",
    " ({least} to {most})": "（{least} 至 {most}）",
    "{what} ({unit})": "{what}（{unit}）",
    "cores": "核",
    ", ": "、",
    ": ": "：",
    "{unit}, lower is better": "{unit}，越小越好",
    "measured {date} with the {size} inputs on {where}; median of {runs} runs.": (
        "{date}，在 {where} 上以 `--size {size}` 测得，取 {runs} 次运行的中位数。"
    ),
    "measured {date} with the {size} inputs on {where}; one run.": "{date}，在 {where} 上以 `--size {size}` 测得，只运行一次。",
    "rows/s": "行/秒",
    "tokens/s": "token/秒",
    "MB/s": "MB/秒",
    "ms": "毫秒",
    "share": "占比",
    "AUC minus 0.5": "AUC 减 0.5",
    "litdata and a NumPy collator": "litdata 加 NumPy collator",
    "transformers, masked positions": "transformers，仅计算掩码位置",
    "BERT's own algorithm": "BERT 原始算法",
}
