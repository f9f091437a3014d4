"""Template pages of a dump are compiled to bodies of a table; what needs Lua, and hostile pages, are refused."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from footing import Extractor, extract_paragraphs

from bertdata.text.wikitext import load_templates
from bertdata.text.wikitext.templates.learn import Definition, compile_definition, link

PAGES = {
    "einwohner": "{{#switch:{{{1}}}|BE=3.755.251|HH=1.892.122|#default={{#invoke:Zahl|f}}}}<noinclude>{{Doku}}</noinclude>",
    "ew": "#WEITERLEITUNG [[Vorlage:Einwohner]]",
    "rund": "<includeonly>rund {{{{{|safesubst:}}}#if:{{{1|}}}|{{EW|{{{1}}}}} Menschen|niemand}}</includeonly>",
    "lua": "{{#invoke:Datum|main}}",
    "braucht lua": "am {{Lua}}",
    "fakt": "{{#statements:P1082}}",
    "kasten": '<div class="infobox">{{{1}}}</div>',
    "tabelle": "{| class=wikitable\n| {{{1}}}\n|}",
    "beleg": "<sup>[Beleg fehlt]</sup>",
    "geprüft": "{{{1}}} km{{#invoke:Check for unknown parameters|check|1}}",
    "fehlt": "{{Gibt es nicht}}",
    "nur": "a<onlyinclude>{{{x|y}}}</onlyinclude>b",
    "gerechnet": "{{Metadaten {{{1}}}|EWZ}}",
    "offen": "{{{1} {{#if:",
}
EXPECTED = {
    "einwohner|BE": "3.755.251",
    "EW|HH": "1.892.122",
    "rund|HH": "rund 1.892.122 Menschen",
    "rund": "rund niemand",
    "geprüft|7": "7 km",
    "nur|x=z": "z",
    "kasten|a": "",
    "tabelle|a": "",
    "beleg": "",
}
REASONS = {
    "lua": "needs Lua",
    "braucht lua": "needs Lua",
    "fakt": "uses {{#statements:}}",
    "fehlt": "not in the dump",
    "gerechnet": "calls a template by a computed name",
    "offen": "unbalanced or too deep braces",
}


def compiled(pages: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    definitions = {name: compile_definition(text) for name, text in pages.items()}
    called = {name for definition in definitions.values() for name in definition.calls}
    missing = dict.fromkeys(called - definitions.keys(), Definition(reason="not in the dump"))
    return link(definitions | missing, pages)


def show(call: str, bodies: dict[str, str], lost: Counter[str] | None = None) -> str:
    table = load_templates("de", {}, bodies)
    found = Extractor(language="de", templates=table)(f"Ort {{{{{call}}}}} hier.")
    if lost is not None:
        lost.update(found.dropped_templates)
    (paragraph,) = found.paragraphs
    return paragraph.removeprefix("Ort ").removesuffix("hier.").strip()


def test_definitions_give_the_words_that_a_reader_sees() -> None:
    bodies, reasons = compiled(PAGES)
    assert {call: show(call, bodies) for call in EXPECTED} == EXPECTED
    assert {name: reasons[name] for name in REASONS} == REASONS


def test_a_call_that_reaches_lua_is_dropped_as_a_whole() -> None:
    lost: Counter[str] = Counter()
    assert show("rund|XX", compiled(PAGES)[0], lost) == ""
    assert lost == {"rund": 1}


def test_the_table_wins_over_learned_bodies() -> None:
    assert show("nowrap|a", {"nowrap": "wrong"}) == "a"


def test_unused_branches_with_lua_do_not_stop_a_definition() -> None:
    bodies, reasons = compiled({"a": "{{#if:{{{1|}}}|{{{1}}}|{{b}}}}", "b": "{{#invoke:X|y}}"})
    assert (bodies, reasons) == ({"a": "{{#if:{{{1|}}}|{{{1}}}|{{b}}}}"}, {"b": "needs Lua"})


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("{{{1}}} Leute[[Kategorie:{{#invoke:M|f|[[x]]}}]]", "5 Leute"),
        ("{{#if:{{#invoke:M|f}}|[[Category:x]]}}{{{1}}} Leute", "5 Leute"),
        ("{{#if:{{nosuch}}|[[Category:{{nosuch}}]]|}}{{{1}}} Leute", "5 Leute"),
        ("{{{1}}} {{#ifeq:{{#invoke:M|f}}|x|Leute|Leute[[Category:y]]}}", "5 Leute"),
        ('{{{1}}} <span title="{{#invoke:M|f}}">Leute</span>', "5 Leute"),
        ('{{{1}}} Leute<span style="display:none">{{#invoke:M|f}}</span>', "5 Leute"),
        ("{{{1}}} Leute{{#tag:ref|{{#invoke:M|f}}}}<ref>{{#invoke:M|f}}</ref>", "5 Leute"),
        ("{{#if:{{#invoke:M|f}}|viele|{{{1}}}}} Leute", ""),  # the words depend on Lua
        ("{{#switch:{{#invoke:M|f}}|a=viele|{{{1}}}}} Leute", ""),
        ("{{{1}}} {{#invoke:M|f}}", ""),
        ("[[:Category:{{#invoke:M|f}}]] {{{1}}}", ""),
    ],
)
def test_lua_that_shows_nothing_loses_no_words(definition: str, words: str) -> None:
    bodies, _ = compiled({"pop": definition})
    lost: Counter[str] = Counter()
    assert show("pop|5", bodies, lost) == words
    assert lost == ({} if words else {"pop": 1})


def ladder(steps: int) -> dict[str, str]:
    """Templates of which each calls the next two twice."""
    return {f"t{n}": f"{{{{t{n + 1}|{{{{t{n + 2}}}}}}}}} {{{{t{n + 1}}}}}" for n in range(steps)} | {
        f"t{steps}": "x",
        f"t{steps + 1}": "y",
    }


@pytest.mark.parametrize(
    "pages",
    [
        ladder(300),
        {"a": "{{#if:x|" * 5000},
        {"a": "{{#if:x|" * 39 + "y" + "}}" * 39},
        {"a": "<noinclude>" * 50_000, "b": "<!--" * 50_000, "c": "<onlyinclude>" * 15_000, "d": "<sup>" * 40_000},
        {"a": "class=" * 30_000},
        {"a": "x" * 300_000},
        {"a": "{{{1|{{a}}}}}"},
        {"a": "{{#switch:{{{1}}}|" + "|".join(f"k{n}={n}" for n in range(15_000)) + "}}"},
        {"a": "{{a|" * 20 + "{{{1}}}" * 20_000 + "}}" * 20},
        {f"n{n}": f"{{{{n{n + 1}}}}}" * 3 for n in range(50)} | {"n50": "word " * 30_000},
    ],
)
def test_hostile_definitions_end_in_bounded_time(pages: dict[str, str]) -> None:
    begin = time.process_time()
    bodies, _ = compiled(pages)
    table = load_templates("de", {}, bodies)
    text = " ".join(f"Wort {{{{{name}|{{{{{name}|z}}}}}}}} Ende." for name in list(pages)[:20])
    assert extract_paragraphs(text, language="de", templates=table)
    assert time.process_time() - begin < 10
