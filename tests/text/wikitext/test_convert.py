"""`{{convert}}` shows what MediaWiki does: a table of calls, all units, any arguments, and real calls."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pytest
from footing import Extractor
from hypothesis import given
from hypothesis import strategies as st

from bertdata.config import read_toml
from bertdata.text import wikitext
from bertdata.text.wikitext.convert import units
from bertdata.text.wikitext.convert.call import read_amount
from bertdata.text.wikitext.convert.measurement import convert, write_number
from bertdata.text.wikitext.convert.units import Unit, default_outputs, find_unit, tables

TABLE = read_toml(Path(__file__).with_name("convert.toml"))
HARD = "\u00a0"


def shown(call: str) -> str | None:
    """Return the text of a call between double braces, with plain spaces and exponents."""
    abbreviate = call.startswith("cvt ")
    arguments: list[str] = []
    options: dict[str, str] = {}
    for argument in call.removeprefix("cvt ").split("|"):
        name, equals, value = argument.partition("=")
        if equals and name.strip().isalnum():
            options[name.strip()] = value.strip()
        else:
            arguments.append(argument)
    text = convert(arguments, options, abbreviate=abbreviate)
    return None if text is None else re.sub("</?sup>", "", text.replace(HARD, " "))


def test_the_text_is_what_mediawiki_shows() -> None:
    for call, text in TABLE["shown"].items():
        assert (call, shown(call)) == (call, text)


def test_a_call_that_cannot_be_converted_shows_nothing() -> None:
    for call in TABLE["refused"]["calls"]:
        assert (call, shown(call)) == (call, None)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("{{convert|3|eV|J}}", "3 electronvolts (4.8×10⁻¹⁹ J)"),
        ("{{convert|1|eV|kcal}}", "1 electronvolt (3.8×10⁻²³ kcal)"),
        ("{{convert|2|fm|in}}", "2 femtometres (7.9×10⁻¹⁴ in)"),
        ("{{convert|10|km|4=0}}", "10 kilometres (6 mi)"),
        ("{{convert|10|km|mi|4=3}}", "10 kilometres (6.214 mi)"),
        ("{{convert|5|to|10|km|6=0}}", "5 to 10 kilometres (3 to 6 mi)"),
        ("{{convert|1=5|2=mi|3=km|4=2}}", "5 miles (8.05 km)"),
        ("{{convert|100|km2|abbr=on}}", "100 km² (39 sq mi)"),
    ],
)
def test_tiny_results_and_numbered_arguments(call: str, shown: str) -> None:
    assert wikitext.extract_paragraphs(f"It is {call} long.", language="en") == [f"It is {shown} long."]


def test_symbols_do_not_break_from_their_numbers() -> None:
    assert convert(["7", "km", "mi"], {"abbr": "on"}) == f"7{HARD}km (4.3{HARD}mi)"


def all_units() -> list[Unit]:
    found = [find_unit(code) for code in [*units._rows(), *tables()["outputs"]]]
    return [unit for unit in found if unit is not None]


def test_every_default_is_a_unit_of_the_same_kind() -> None:
    for unit in all_units():
        assert unit.name and unit.plural and unit.scale > 0, unit
        assert "{" not in unit.name + unit.plural + unit.symbol, unit
        for code in (*default_outputs(unit, 0.5), *default_outputs(unit, 1e9)):
            pieces = tables()["composites"].get(code, [])
            output = find_unit(str(pieces[-1]) if pieces else code)
            assert output is not None and output.dimension == unit.dimension, (unit, code)


def test_every_code_in_the_file_is_known_and_given_once() -> None:
    codes = [code for lines in tables()["units"].values() for line in lines.split("\n") for code in line.split("|")[0].split()]
    assert len(codes) == len(set(codes)) > 500
    assert all(find_unit(code) is not None for code in [*units._rows(), *tables()["outputs"]])
    for pieces in tables()["composites"].values():
        for larger, count, smaller in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
            one, other = find_unit(larger), find_unit(smaller)
            assert one is not None and other is not None, (larger, smaller)
            assert one.scale == pytest.approx(count * other.scale, rel=1e-12)


@given(st.floats(-1e6, 1e6), st.integers(-3, 6))
def test_numbers_are_rounded_to_half_a_place(value: float, digits: int) -> None:
    found = read_amount(write_number(value, digits).replace("×10<sup>", "e").replace("</sup>", ""))
    assert found is not None
    assert abs(found.value - value) <= 0.5 * 10.0**-digits * (1 + 1e-9) + 1e-9 * abs(value) + 5e-5


WORDS = st.sampled_from(
    [*["1", "1,234.5", "1/2", "-3", "1e9", "0", "to", "by", "km", "ft", "in", "C", "e6acre", "quux", "mi nmi", " "], ""]
)
NAMES = st.sampled_from(["abbr", "disp", "adj", "sp", "sigfig", "round", "frac", "order", "spell", "comma", "lk", "4"])
VALUES = st.sampled_from(["on", "off", "flip", "or", "table", "us", "in", "3", "5", "out", "mid", "x", "~", "values", "", "-1"])


@given(st.lists(WORDS, max_size=8), st.dictionaries(NAMES, VALUES, max_size=4), st.booleans())
def test_no_call_raises(arguments: list[str], options: dict[str, str], abbreviate: bool) -> None:
    text = convert(arguments, options, abbreviate=abbreviate)
    assert text is None or text


@pytest.mark.slow
def test_real_calls_are_converted(shared: Path) -> None:
    wiki = Extractor(language="en", templates=wikitext.load_templates("en"))
    with lzma.open(shared / "extraction" / "dev_convert.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["kind"] == "real"]
    wrong = [row["call"] for row in rows if wiki(f"Start {row['call']} end.").paragraphs != [f"Start {row['shown']} end."]]
    assert (len(rows), wrong) == (361, [])
