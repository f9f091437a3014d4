"""Templates that carry words: the table, what it refuses, what is counted, and the limits on work."""

from pathlib import Path

import pytest
from footing import Extractor, extract_paragraphs
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.text.wikitext import Templates, load_templates

WIKI = Extractor(language="en", templates=load_templates("en"))


def test_without_a_table_all_templates_vanish() -> None:
    found = Extractor(language="en")("a {{nowrap|b}} {{cn}}, {{formatnum:1234}} {{uc:c}} {{PAGENAME}}", "T")
    assert found.paragraphs == ["a, 1,234 T"]
    assert found.dropped_templates == {"nowrap": 1, "uc:": 1}


def test_what_is_counted() -> None:
    text = """a {{Foo_bar|{{Baz}}}} {{foo bar}} {{#invoke:x|y}} {{cn}} {{nowrap|{{qux}}}} {{flagicon|x}} {{convert|a|b}}
    {{age|1980|1|1}} {{#if:|x}} <ref>{{cite}}</ref><!-- {{note2}} --> {{DEFAULTSORT:b}} {{uc:d}} {{{1}}} {{broken"""
    assert WIKI(text).dropped_templates == {"foo bar": 2, "#invoke:": 1, "qux": 1, "convert": 1}


def show(table: Templates, text: str) -> list[str]:
    return extract_paragraphs(text, title="T", language="en", templates=table)


def test_own_templates() -> None:
    own = """
        footnotes = ["my note"]
        [templates]
        "Big_city | town" = "{{{1}}}, {{nowrap|a city of {{{2|many}}}}}{{#if:{{{sea|}}}|&#32;by the sea}}"
        "lang" = "[{{{2}}}]"
        "cn" = "<nowiki>[?]</nowiki>"
        "x-*-y" = "{{{*}}}/{{{0}}}"
        "many" = "{{nihongo|{{{...}}}}}"
        "silent" = ""
        """
    table = load_templates("en", {"own.toml": own})
    assert show(table, "{{big city|Rome|1=Oslo|sea=y}}; {{Town|Bern|few}}") == [
        "Oslo, a city of many by the sea; Bern, a city of few"
    ]
    assert show(table, "a {{my note|b}}, {{lang|fr|c}} d{{cn}}{{silent}}") == ["a, [c] d[?]"]
    assert show(table, "{{x-b-y}} {{many|Tokyo|東京}} {{snd}} {{convert|1|km|mi}}") == [
        "b/x-b-y Tokyo (東京) – 1 kilometre (0.62 mi)"
    ]
    assert show(load_templates("en"), "a {{my note|b}} {{lang|fr|c}}") == ["a c"]


def test_the_last_file_comes_first() -> None:
    tables = {"one.toml": '[templates]\na = "1"\nb = "1"', "two.toml": 'footnotes = ["b"]\n[templates]\na = "2"'}
    assert show(load_templates("en", tables), "{{a}} {{b}}.") == ["2."]


FAULTS = [
    ('[templates]\na = "{{{1}"', "'a'.*braces without a partner"),
    ('[templates]\na = "{{{1}}} }}"', "'a'.*braces without a partner"),
    ('[templates]\na = "{{#nosuch:x}}"', "'a'.*calls {{#nosuch:}}, which does not exist"),
    ('[templates]\na = "{{nosuch}}"', "'a'.*calls {{nosuch}}, which does not exist"),
    ("[templates]\na = 1", "'a'.*must be a string"),
    ('[templates]\n"a|b" = "x"', "'a|b'.*no name"),
    ('footnotes = "a"', "footnotes must be a list"),
    ("templates = 1", "must be a table"),
    ('[template]\na = "x"', "unknown key 'template'"),
    ("a = ", "Invalid value"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=[row[1][-30:] for row in FAULTS])
def test_a_file_that_cannot_work_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s)own.toml.*{message}"):
        load_templates("en", {"own.toml": text})


@pytest.mark.slow
def test_every_built_in_table_loads() -> None:
    tables = Path(load_templates.__code__.co_filename).parent / "tables"
    languages = {path.stem for path in tables.glob("*.toml")} - {"common"}
    assert {"en", "ja", "zh", "it", "de", "fr", "es", "ru"} <= languages
    for language in languages:
        own = {path.name: path.read_text(encoding="utf-8") for path in (tables / "common.toml", tables / f"{language}.toml")}
        checked = load_templates(language, own)  # as a user's tables are checked
        assert checked.bodies == load_templates(language).bodies
        assert len(checked.bodies) > len(load_templates("").bodies)
    assert load_templates("simple").bodies == load_templates("en").bodies
    assert load_templates("../x") == load_templates("")


@pytest.mark.slow
def test_a_body_that_doubles_does_not_blow_up() -> None:
    lines = "".join(f'a{n} = "{{{{a{n + 1}|{{{{{{1}}}}}}{{{{{{1}}}}}}}}}}" \n' for n in range(10))
    wide = "".join(f'b{n} = "' + f"{{{{b{n + 1}}}}}" * 50 + '"\n' for n in range(10))
    own = f'[templates]\n{lines}a10 = "{{{{{{1}}}}}}"\n{wide}b10 = "x"\nc = "{{{{{{1}}}}}}{{{{{{1}}}}}}"'
    table = load_templates("en", {"own.toml": own})
    for text in ("{{a0|" + "x" * 10_000 + "}}" * 5, "{{b0}}"):
        assert len("".join(show(table, text))) < 10_000_000
    assert len("".join(show(table, "{{c|" * 39 + "x" + "}}" * 39))) < 10_000_000


def test_a_template_that_calls_itself_is_dropped() -> None:
    deep = "{{#if:x|{{{a|" * 19 + "{{b}} {{b}}" + "}}}}}" * 19
    table = load_templates("en", {"own.toml": f'[templates]\na = "{{{{#if:x|{{{{b|{{{{a}}}}}}}}}}}}"\nb = "{deep}"'})
    found = Extractor(language="en", templates=table)("{{#if:x|" * 39 + "x {{a}} {{b}}" + "}}" * 39)
    assert found.paragraphs == ["x"] and set(found.dropped_templates) == {"a", "b"}


@pytest.mark.slow
def test_beyond_the_limit_calls_are_counted() -> None:
    text = "{{nowrap|" + "x" * 100_000 + "}} "
    assert not WIKI(text * 3).dropped_templates
    assert WIKI("{{convert|5|km}}\n\n" * 100_000).dropped_templates["convert"] > 50_000


NAMES = ["nowrap", "convert", "zh", "lang-fr", "val", "nosuch", "cn", "as_of", "#if:", "#switch:", "lc:", "#expr:", "hlist"]
PIECES = ["{{", "}}", "{{{", "}}}", "|", "=", "[[", "]]", "-{", "}-", "1", "km", "a", " ", "\n", "<nowiki>", "''", "{{{...}}}"]
PAGES = st.lists(st.one_of(st.sampled_from([*PIECES, *NAMES]), st.text(max_size=2)), max_size=50).map("".join)


@settings(max_examples=100, deadline=None)
@given(PAGES)
@pytest.mark.slow
def test_nothing_raises(text: str) -> None:
    found = WIKI(text, "T")
    for paragraph in found.paragraphs:
        assert paragraph == paragraph.strip() and "\n" not in paragraph
    assert all(count > 0 for count in found.dropped_templates.values())
