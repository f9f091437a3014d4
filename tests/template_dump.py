"""Write a dump with template pages, for tests of learned templates."""

from __future__ import annotations

import bz2
from html import escape
from pathlib import Path

WIKIS = {
    "de": ("Vorlage", "Die Stadt ist mit rund {{Volk Test|BE}} Einwohnern und {{Alt}} groß.", "#WEITERLEITUNG [[Vorlage:Neu]]"),
    "ru": ("Шаблон", "Город имеет {{Volk Test|BE}} жителей и {{Alt}} велик.", "#ПЕРЕНАПРАВЛЕНИЕ [[Шаблон:Neu]]"),
    "ar": ("قالب", "المدينة بها {{Volk Test|BE}} نسمة و {{Alt}} كبيرة.", "#تحويل [[قالب:Neu]]"),
    "ko": ("틀", "이 도시의 인구는 {{Volk Test|BE}} 명이고 {{Alt}} 크다.", "#넘겨주기 [[틀:Neu]]"),
}
TEMPLATES = {
    "Volk Test": "{{#switch:{{{1}}}|BE={{Zahl Test|3.755.251}}|HH=1.892.122}}<noinclude>{{Doc}}</noinclude>",
    "Zahl Test": "<span>{{{1}}}</span>",
    "Neu": "xx{{{1|}}}yy",
    "Lua Test": "{{#invoke:M|f}}",
    "Hinweis Test": "''Dieser Text zeigt einen Hinweis.''",
}


def page(number: int, title: str, text: str, namespace: int = 0) -> str:
    redirect = '<redirect title="x"/>' if text.startswith("#") else ""
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>{redirect}\n    <revision>"
        f"<id>{number}</id><timestamp>2026-01-01T00:00:00Z</timestamp><model>wikitext</model>"
        f"<text>{escape(text)}</text></revision>\n  </page>\n"
    )


def write_dump(folder: Path, language: str, articles: int = 40, indexed: bool = False) -> Path:
    """Write a dump with articles and template pages; a multistream dump has three pages in a stream and an index."""
    prefix, prose, redirect = WIKIS[language]
    lines = f"{{{{Hinweis Test}}}}\n{prose} Lua gibt {{{{Lua Test}}}} aus."
    pages = [(f"A{n}", f"{lines}\n\nDer Absatz Nummer {n} steht nur hier.", 0) for n in range(articles)]
    pages += [(f"{prefix}:{name}", text, 10) for name, text in [*TEMPLATES.items(), ("Alt", redirect)]]
    head = (
        f'<mediawiki xml:lang="{language}"><siteinfo><dbname>{language}wiki</dbname><base>https://{language}.wikipedia.org/wiki/X</base>'
        f'<namespaces><namespace key="0" /><namespace key="10">{prefix}</namespace></namespaces></siteinfo>\n'
    )
    xml = [page(n, *each) for n, each in enumerate(pages, 1)]
    if not indexed:
        path = folder / f"{language}wiki-pages-articles.xml"
        path.write_text(head + "".join(xml) + "</mediawiki>", encoding="utf-8")
        return path
    path = folder / f"{language}wiki-20260101-pages-articles-multistream.xml.bz2"
    data, index = bz2.compress(head.encode()), []
    for n in range(0, len(xml), 3):
        index += [f"{len(data)}:{n + k + 1}:{title}\n" for k, (title, _, _) in enumerate(pages[n : n + 3])]
        data += bz2.compress("".join(xml[n : n + 3]).encode())
    path.write_bytes(data + bz2.compress(b"</mediawiki>"))
    (folder / f"{language}wiki-20260101-pages-articles-multistream-index.txt").write_text("".join(index), encoding="utf-8")
    return path
