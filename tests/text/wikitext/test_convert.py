"""Measurements are converted, rounded and worded as MediaWiki shows them."""

from __future__ import annotations

import doctest
import importlib
import json
import lzma
import math
import re
from pathlib import Path

import pytest
from footing import Extractor
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.text import wikitext
from bertdata.text.wikitext import load_templates
from bertdata.text.wikitext.convert import convert, units
from bertdata.text.wikitext.convert.amounts import read_amount, spell_number, write_fraction, write_number
from bertdata.text.wikitext.convert.units import Unit, default_outputs, find_unit, table

HARD = "\u00a0"

# A call without its braces, and its text; "cvt" before the call is the other template.
CASES = """
    # rounding: as exact as the input, two figures at least
    17|mi|km => 17 miles (27 km)
    170|mi|km => 170 miles (270 km)
    171|mi|km => 171 miles (275 km)
    17.0|mi|km => 17.0 miles (27.4 km)
    1|mi|km => 1 mile (1.6 km)
    7|km|mi => 7 kilometres (4.3 mi)
    700|km|mi => 700 kilometres (430 mi)
    7000|km|mi => 7,000 kilometres (4,300 mi)
    12|ft|m => 12 feet (3.7 m)
    37|ft|m => 37 feet (11 m)
    3700|ft|m => 3,700 feet (1,100 m)
    4|in|cm => 4 inches (10 cm)
    9|lb|kg => 9 pounds (4.1 kg)
    0.4|mm|in => 0.4 millimetres (0.016 in)
    250|g|oz => 250 grams (8.8 oz)
    0|ft|m => 0 feet (0 m)
    9.96|ft|ft|1 => 9.96 feet (10.0 ft)
    33|m|yd => 33 metres (36 yd)
    # decimal place, figures, multiples
    171|mi|km|0 => 171 miles (275 km)
    171|mi|km|1 => 171 miles (275.2 km)
    171|mi|km|-2 => 171 miles (300 km)
    171|mi|1 => 171 miles (275.2 km)
    171|mi|km|sigfig=2 => 171 miles (280 km)
    171|mi|km|sigfig=5 => 171 miles (275.20 km)
    62.1|mi|km|sigfig=2 => 62.1 miles (100 km)
    17|mi|km|round=5 => 17 miles (25 km)
    171|mi|km|round=25 => 171 miles (275 km)
    171|mi|km|disp=5 => 171 miles (275 km)
    7|ft|m|round=0.5 => 7 feet (2 m)
    5|ft|m|round=0.5 => 5 feet (1.5 m)
    2.5|m|m|0 => 2.5 metres (3 m)
    -2.5|m|m|0 => −2.5 metres (−3 m)
    258|m|ft => 258 metres (846 ft)
    3200|m|ft => 3,200 metres (10,500 ft)
    258.0|m|ft => 258.0 metres (846.5 ft)
    7|lb|kg => 7 pounds (3.2 kg)
    86|kg|lb => 86 kilograms (190 lb)
    0|ft|m|sigfig=3 => 0 feet (0.00 m)
    # numbers
    1,250|ft|m => 1,250 feet (380 m)
    12500|ft|m|comma=off => 12500 feet (3800 m)
    1250|ft|m|comma=5 => 1250 feet (380 m)
    12500|ft|m|comma=5 => 12,500 feet (3800 m)
    12500|ft|m|comma=gaps => 12500 feet (3800 m)
    -7|m|ft => −7 metres (−23 ft)
    −7|m|ft => −7 metres (−23 ft)
    &minus;7|m|ft => −7 metres (−23 ft)
    .5|kg|lb => 0.5 kilograms (1.1 lb)
    2e3|m|ft => 2×103 metres (6.6×103 ft)
    3e9|km|mi => 3×109 kilometres (1.9×109 mi)
    2|AU|km => 2 astronomical units (300,000,000 km)
    6|ly|km => 6 light-years (5.7×1013 km)
    2|nm|in => 2 nanometres (7.9×10−8 in)
    1/4|mi|m => 1⁄4 mile (400 m)
    3+1/2|in|cm => 3 1⁄2 inches (8.9 cm)
    -3-1/2|in|cm => −3 1⁄2 inches (−8.9 cm)
    2//3|mi|km => 2/3 mile (1.1 km)
    7|cm|in|frac=4 => 7 centimetres (2 3⁄4 in)
    5|cm|in|frac=8 => 5 centimetres (2 in)
    1.7|m|ftin|frac=4 => 1.7 metres (5 ft 7 in)
    12|ft|m|adj=ri2 => 12.00 feet (3.7 m)
    # symbols and names
    30|cm|in|abbr=on => 30 cm (12 in)
    cvt 30|cm|in => 30 cm (12 in)
    cvt 30|cm|in|abbr=off => 30 centimetres (12 inches)
    30|cm|in|abbr=off => 30 centimetres (12 inches)
    30|cm|in|abbr=none => 30 centimetres (12 inches)
    30|cm|in|abbr=in => 30 cm (12 inches)
    30|cm|in|abbr=out => 30 centimetres (12 in)
    30|cm|in|abbr=values => 30 (12)
    30|cm|in|abbr=~ => 30 centimetres [cm] (12 in)
    2.54|cm|in|0|abbr=off => 2.54 centimetres (1 inch)
    6|acre|ha => 6 acres (2.4 ha)
    6|ha|acre => 6 hectares (15 acres)
    6|ha|acre|abbr=on => 6 ha (15 acres)
    6|m|ft|sp=us => 6 meters (20 ft)
    6|L|USgal|sp=us|abbr=off => 6 liters (1.6 U.S. gallons)
    6|t|lb|sp=us => 6 metric tons (13,000 lb)
    6|m|ft|lk=on|sortable=on|nosuch=1 => 6 metres (20 ft)
    # how the two are joined
    6|m|ft|disp=or => 6 metres or 20 feet
    6|m|ft|disp=or|abbr=on => 6 m or 20 ft
    21|C|F|disp=or => 21 °C or 70 °F
    6|m|ft|disp=sqbr => 6 metres [20 ft]
    6|m|ft|disp=comma => 6 metres, 20 ft
    6|m|ft|disp=semicolon => 6 metres; 20 ft
    6|m|ft|disp=br => 6 metres 20 feet
    6|m|ft|disp=br() => 6 metres (20 feet)
    6|L|USgal impgal|disp=(or) => 6 litres (1.6 US gal or 1.3 imp gal)
    6|L|USgal impgal|disp=comma => 6 litres, 1.6 US gal, 1.3 imp gal
    6|L|USgal impgal|disp=unit2 => US gal; imp gal
    9|e6acre|ha|disp=unit => acres
    9|e6acre|ha|disp=preunit|dry => 9 million dry acres (3,600,000 dry ha)
    9|e6acre|ha|abbr=values => 9 million (3,600,000)
    9|e6acre|ha|order=flip => 3,600,000 hectares (9×106 acres)
    0|C|F|abbr=out => 0 degrees Celsius (32 °F)
    9|mi|km|input=7 leagues => 7 leagues
    6|m|ft|disp=nosuch => 6 metres (20 ft)
    6|m|ft|disp=out => 20 ft
    6|m|ft|disp=output only => 20 ft
    6|m|ft|disp=number => 20
    6|m|ft|disp=output number only => 20
    6|m|ft|disp=unit => metres
    6|m|ft|disp=unit|abbr=on => m
    6|m|ft|disp=unit2 => ft
    6|m|ft|disp=table => style="text-align:right;"|6 |style="text-align:right;"|20
    6|m|ft|disp=flip => 20 feet (6 m)
    6|m|ft|order=flip => 20 feet (6 m)
    20|mi|km nmi|order=flip => 32 kilometres; 17 nautical miles (20 mi)
    20|mi|km mi|order=out => 32 kilometres (20 mi)
    6|m|ft|disp=x|, or |, that is => 6 metres, or 20 ft, that is
    6|m|ft|0|disp=preunit|running- => 6 running-metres (20 running-ft)
    # adjectives
    40|ft|m|adj=on => 40-foot (12 m)
    40|ft|m|sing=on => 40-foot (12 m)
    40|ft|m|adj=on|abbr=on => 40 ft (12 m)
    40|ft|m|adj=on|abbr=off => 40-foot (12-metre)
    40|ft|m|adj=1 => 40 foot (12 m)
    40|ft|m|adj=mid|-tall => 40-foot-tall (12 m)
    40|ft|m|0|adj=mid|high => 40-foot high (12 m)
    40|ft|m|adj=pre|vertical => 40 vertical feet (12 m)
    40|sqmi|km2|adj=on => 40-square-mile (100 km2)
    40|ha|acre|adj=on => 40-hectare (99-acre)
    21|C|F|adj=on => 21 °C (70 °F)
    6|ft|3|in|cm|adj=on => 6-foot-3-inch (191 cm)
    # in words
    7|mi|km|spell=in => seven miles (11 km)
    7|mi|km|spell=In => Seven miles (11 km)
    7|mi|km|spell=on|abbr=off => seven miles (eleven kilometres)
    7|mi|km|spell=in|adj=on => seven-mile (11 km)
    121|mi|km|spell=in => one hundred and twenty-one miles (195 km)
    # ranges
    3|-|7|km|mi => 3–7 kilometres (1.9–4.3 mi)
    3|–|7|km|mi => 3–7 kilometres (1.9–4.3 mi)
    3|to|7|km|mi => 3 to 7 kilometres (1.9 to 4.3 mi)
    3|and|7|km|mi|abbr=on => 3 and 7 km (1.9 and 4.3 mi)
    3|or|7|km => 3 or 7 kilometres (1.9 or 4.3 mi)
    3|to(-)|7|km => 3 to 7 kilometres (1.9–4.3 mi)
    3|and(-)|7|km|abbr=on => 3 and 7 km (1.9–4.3 mi)
    3|to about|7|km => 3 to about 7 kilometres (1.9 to about 4.3 mi)
    3|, and|7|km => 3, and 7 kilometres (1.9, and 4.3 mi)
    3|,|5|, or|7|km => 3, 5, or 7 kilometres (1.9, 3.1, or 4.3 mi)
    20|to|50|m|ft => 20 to 50 metres (66 to 164 ft)
    20|to|50|m|ft|round=each => 20 to 50 metres (66 to 160 ft)
    20|to|50|m|ft|sigfig=2 => 20 to 50 metres (66 to 160 ft)
    20|to|50|m|ft|adj=on => 20-to-50-metre (66 to 164 ft)
    20|-|50|m|ft|adj=on => 20–50-metre (66–164 ft)
    2|x|4|m|ft => 2 by 4 metres (6.6 ft × 13.1 ft)
    2|×|4|m|ft|abbr=on => 2 m × 4 m (6.6 ft × 13.1 ft)
    2|by|4|m|ft|abbr=on => 2 by 4 m (6.6 by 13.1 ft)
    2|by|3|by|4|m|ft => 2 by 3 by 4 metres (6.6 by 9.8 by 13.1 ft)
    10x20x30|m|ft => 10 by 20 by 30 metres (33 ft × 66 ft × 98 ft)
    10|xx|20|m|ft => 10 × 20 metres (33 × 66 ft)
    10|*|20|m|ft => 10×20 metres (33×66 ft)
    30|±|2|km|mi => 30 ± 2 kilometres (18.6 ± 1.2 mi)
    30|+/-|10|C|F => 30 ± 10 °C (86 ± 18 °F)
    3–7|km|mi => 3–7 kilometres (1.9–4.3 mi)
    3 to 7|km|mi => 3 to 7 kilometres (1.9 to 4.3 mi)
    3-7|km|mi => 3–7 kilometres (1.9–4.3 mi)
    1.6|-|1.9|m => 1.6–1.9 metres (5 ft 3 in – 6 ft 3 in)
    1.6|to|1.9|m|ftin => 1.6 to 1.9 metres (5 ft 3 in to 6 ft 3 in)
    # units that are made of others
    15.2|hand => 15.2 hands (62 inches; 157 cm)
    15.2|hand|abbr=on => 15.2 h (62 in; 157 cm)
    6|rod => 6 rods (99 ft; 30 m)
    6|rod|abbr=on => 6 rd (99 ft; 30 m)
    90|ft.lbf => 90 foot-pounds force (120 J)
    90|ft.lbf|Nm => 90 foot-pounds force (120 N⋅m)
    1800|rpm => 1,800 revolutions per minute (30 Hz)
    100|MHz => 100 megahertz (3.0 m)
    8|fps => 8 feet per second (2.4 m/s)
    300|dpi => 300 DPI (85 μm)
    8|sqverst => 8 square versts (9.1 km2; 3.5 sq mi)
    8|foot2 => 8 square foot (0.74 m2)
    8|square feet => 8 square feet (0.74 m2)
    8|meters => 8 meters (26 ft)
    8|U.S.pt => 8 U.S. pints (3.8 l; 6.7 imp pt)
    8|usoz => 8 US fluid ounces (240 ml)
    8|MeV => 8 megaelectronvolts (1.3 pJ)
    8|mWh => 8 milliwatt-hours (29 J)
    8|in/s => 8 inches per second (20 cm/s)
    8|km/s2 => 8 kilometres per second squared (5.0 mi/s2)
    80|Tcuft => 80 trillion cubic feet (2.3×1012 m3)
    8|Tcuft|abbr=on => 8×1012 cu ft (230×109 m3)
    2.5|Moilbbl/d => 2.5 million barrels per day (400×103 m3/d)
    25|mpgimp => 25 miles per imperial gallon (11 L/100 km; 21 mpg‑US)
    # several units
    5|ft|7|in => 5 feet 7 inches (1.70 m)
    5|ft|10|in|cm => 5 feet 10 inches (178 cm)
    6|ft|1|in|m|abbr=on => 6 ft 1 in (1.85 m)
    6|ft|7+1/2|in|m => 6 feet 7 1⁄2 inches (2.019 m)
    9|st|11|lb => 9 stone 11 pounds (137 lb; 62 kg)
    7|lb|8|oz|kg => 7 pounds 8 ounces (3.4 kg)
    1|mi|300|yd|km => 1 mile 300 yards (1.884 km)
    1.9|m => 1.9 metres (6 ft 3 in)
    4|m => 4 metres (13 ft)
    62|kg|stlb => 62 kilograms (9 st 11 lb)
    3.4|kg|lb oz => 3.4 kilograms (7 lb 8 oz)
    8|cm|ftin => 8 centimetres (3.1 in)
    60|mph|km/h kn => 60 miles per hour (97 km/h; 52 kn)
    9|nmi => 9 nautical miles (17 km; 10 mi)
    11|st => 11 stone (150 lb; 70 kg)
    # temperatures: three figures in kelvins
    21|C|F => 21 °C (70 °F)
    20|C|F => 20 °C (68 °F)
    1500|C|F => 1,500 °C (2,730 °F)
    21.5|C => 21.5 °C (70.7 °F)
    50|F => 50 °F (10 °C)
    -4|°F|°C => −4 °F (−20 °C)
    77|K => 77 K (−196.2 °C; −321.1 °F)
    21|C|F|abbr=off => 21 degrees Celsius (70 degrees Fahrenheit)
    1|C|F|abbr=off => 1 degree Celsius (34 degrees Fahrenheit)
    15|to|20|C|F => 15 to 20 °C (59 to 68 °F)
    3|C-change => 3 °C (5.4 °F)
    # every kind of unit
    80|km2 => 80 square kilometres (31 sq mi)
    80|m2 => 80 square metres (860 sq ft)
    900|sqft => 900 square feet (84 m2)
    3|m3 => 3 cubic metres (110 cu ft)
    90|cc => 90 cubic centimetres (5.5 cu in)
    330|ml|USoz => 330 millilitres (11 US fl oz)
    20|acre.ft => 20 acre feet (25,000 m3)
    70|kg => 70 kilograms (150 lb)
    3|t => 3 tonnes (3.0 long tons; 3.3 short tons)
    3|LT => 3 long tons (3.0 t)
    8|oz => 8 ounces (230 g)
    90|km/h => 90 kilometres per hour (56 mph)
    90|kn => 90 knots (170 km/h; 100 mph)
    9|m/s => 9 metres per second (30 ft/s)
    90|hp => 90 horsepower (67 kW)
    90|kW|PS hp => 90 kilowatts (120 PS; 120 hp)
    90|PS => 90 PS (66 kW)
    5|lb/cuft => 5 pounds per cubic foot (0.080 g/cm3)
    5|g/m3 => 5 grams per cubic metre (0.0084 lb/cu yd)
    5|kJ/kg => 5 kilojoules per kilogram (2.1 BTU/lb)
    5|smoot => 5 smoots (8.5 m)
    5|scc => 5 standard cubic centimetres (0.51 J)
    5|Myr => 5 million years (160 Ts)
    5|tsfc => 5 lb/(lbf⋅h) (140 g/(kN⋅s))
    5|kgTNT => 5 kilograms of TNT (21 MJ)
    5|furlong|abbr=on => 5 furlongs (3,300 ft; 1,000 m)
    1000|m|chain|abbr=on => 1,000 m (50 chains)
    12|Mm3 => 12 cubic megametres (2.9×109 cu mi)
    5|xx|10|ft|adj=on => 5-×-10-foot (1.5 × 3.0 m)
    5|to about|10|ft|adj=on => 5-to-about-10-foot (1.5 to about 3.0 m)
    15.3|C|K => 15.3 °C (288.4 K)
    -100.1|C|K => −100.1 °C (173.1 K)
    90|psi => 90 pounds per square inch (620 kPa)
    9|bar => 9 bars (900 kPa)
    30|lb/sqft|kg/m2 => 30 pounds per square foot (150 kg/m2)
    3|kg/cm2 => 3 kilograms per square centimetre (43 psi)
    200|g/kWh => 200 grams per kilowatt-hour (0.33 lb/(hp⋅h))
    90|kW/t|hp/LT => 90 kilowatts per tonne (120 hp/long ton)
    90|N.m => 90 newton metres (66 lbf⋅ft)
    90|lbf => 90 pounds-force (400 N)
    90|kWh => 90 kilowatt-hours (320 MJ)
    90|kcal => 90 kilocalories (380 kJ)
    40|mpgus => 40 miles per US gallon (5.9 L/100 km; 48 mpg‑imp)
    5|L/100km => 5 litres per 100 kilometres (56 mpg‑imp; 47 mpg‑US)
    90|/sqmi => 90 per square mile (35/km2)
    90|PD/sqkm => 90 inhabitants per square kilometre (230/sq mi)
    2|g/cm3 => 2 grams per cubic centimetre (0.072 lb/cu in)
    500|kg/ha => 500 kilograms per hectare (450 lb/acre)
    90|m3/s => 90 cubic metres per second (3,200 cu ft/s)
    9|koilbbl/d => 9 thousand barrels per day (1.4×103 m3/d)
    9|Moilbbl|m3 => 9 million barrels (1,400,000 m3)
    90|Goilbbl => 90 billion barrels (14×109 m3)
    9|e6acre => 9 million acres (3.6×106 ha)
    9|e6acre|e6ha|abbr=off => 9 million acres (3.6 million hectares)
    9|e6mi|e6km|abbr=on => 9×106 mi (14×106 km)
    9|e6mi|e6km|abbr=unit => 9 million mi (14 million km)
    9|MUSgal => 9 million US gallons (34 Ml)
"""

REFUSED = """
    7
    |km
    seven|km|mi
    7|quux
    7|m|ft|input=P2048
    7|km|quux
    7|km|kg
    7||
    1/0|km
    0|mpgus
    1e999|km
    NaN|km
    INF|km
    ٧|km
    7|e6C
    7|/
    7|km/
    7|L/100km/s
"""


def cases(table: str) -> list[str]:
    lines = (line.strip() for line in table.strip().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def shown(call: str) -> str | None:
    """Return the text of a call as it stands between double braces, with plain spaces and exponents."""
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
    ],
)
def test_tiny_results_and_numbered_arguments(call: str, shown: str) -> None:
    assert wikitext.extract_paragraphs(f"It is {call} long.", language="en") == [f"It is {shown} long."]


def test_the_text_is_what_mediawiki_shows() -> None:
    for case in cases(CASES):
        call, text = case.split(" => ")
        assert shown(call) == text


@pytest.mark.parametrize("call", cases(REFUSED))
def test_what_cannot_be_converted_gives_no_text(call: str) -> None:
    assert shown(call) is None


def test_symbols_do_not_break_from_their_numbers() -> None:
    assert convert(["7", "km", "mi"], {}) == f"7 kilometres (4.3{HARD}mi)"
    assert convert(["7", "sqft", "m2"], {}, abbreviate=True) == f"7{HARD}sq{HARD}ft (0.65{HARD}m<sup>2</sup>)"
    assert convert(["7", "acre", "ha"], {}, abbreviate=True) == f"7{HARD}acres (2.8{HARD}ha)"
    assert convert(["7", "/km2"], {}, abbreviate=True) == f"7/km<sup>2</sup> (18/sq{HARD}mi)"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("5|Mm3", "5 cubic megametres (1.2×10⁹ cu mi)"),
        ("5e-3|m|km", "5×10⁻³ metres (5.0×10⁻⁶ km)"),
        ("5|e6m3|m3|abbr=on", "5×10⁶ m³ (5,000,000 m³)"),
        ("5|kg/m2|kg/m2|abbr=~", "5 kilograms per square metre [kg/m²] (5.0 kg/m²)"),
        ("2|mmH2O", "2 millimetres of water (0.020 kPa)"),
    ],
)
def test_exponents_are_raised(call: str, text: str) -> None:
    wiki = Extractor(language="en", templates=load_templates("en"), math="text")
    assert wiki(f"{{{{convert|{call}}}}}").paragraphs == [text]


def test_spaces_of_the_editors_own_words_count() -> None:
    assert convert([" 7 ", " km ", " mi ", " [about ", "]"], {"disp": "x"}) == f"7 kilometres [about 4.3{HARD}mi]"


def all_units() -> list[Unit]:
    found = [find_unit(code) for code in [*units._rows(), *table("outputs")]]
    return [unit for unit in found if unit is not None]


def test_every_default_is_a_unit_of_the_same_kind() -> None:
    for unit in all_units():
        assert unit.name and unit.plural and unit.scale > 0, unit
        assert "{" not in unit.name + unit.plural + unit.symbol, unit
        for code in (*default_outputs(unit, 0.5), *default_outputs(unit, 1e9)):
            pieces = table("composites").get(code, [])
            output = find_unit(str(pieces[-1]) if pieces else code)
            assert output is not None, (unit, code)
            assert output.dimension == unit.dimension, (unit, code)


def test_every_code_in_the_file_is_known_and_given_once() -> None:
    tables = units._tables()
    codes = [code for lines in tables["units"].values() for line in lines.split("\n") for code in line.split("|")[0].split()]
    assert len(codes) == len(set(codes)) > 500
    assert all(find_unit(code) is not None for code in [*units._rows(), *table("outputs")])
    for pieces in tables["composites"].values():
        for larger, count, smaller in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
            one, other = find_unit(larger), find_unit(smaller)
            assert one is not None, larger
            assert other is not None, smaller
            assert one.scale == pytest.approx(count * other.scale, rel=1e-12)


@given(st.sampled_from(all_units()), st.sampled_from(all_units()), st.integers(1, 9_999_999))
def test_six_figures_are_the_quotient_of_the_scales(one: Unit, other: Unit, count: int) -> None:
    text = convert([str(count), one.code, other.code], {"sigfig": "6", "disp": "number", "comma": "off"})
    if one.dimension != other.dimension:
        assert text is None
        return
    assert text is not None
    number, _, power = re.sub("</?sup>", "", text.replace("−", "-")).partition("×10")
    value = other.from_base(one.to_base(count))
    # The template adds 2e-14 before it rounds, which shows in very small values: 1 m in astronomical units.
    assert float(number) * 10.0 ** int(power or 0) == pytest.approx(value, rel=1e-5, abs=3e-14)


@given(st.floats(-1e8, 1e8), st.integers(-3, 6))
def test_numbers_are_rounded_to_half_a_place(value: float, digits: int) -> None:
    text = write_number(value, digits, from_digits=99)
    if "×" not in text:
        assert abs(float(text.replace("−", "-")) - value) <= 0.5 * 10.0**-digits * (1 + 1e-9) + 1e-15 * abs(value)
        assert len(text.partition(".")[2]) == max(0, digits)


@given(st.floats(-1e6, 1e6), st.integers(1, 999))
def test_fractions_are_nearest_and_in_lowest_terms(value: float, under: int) -> None:
    text = write_fraction(value, under)
    amount = read_amount(text)
    assert amount is not None
    assert abs(amount.value - value) <= 0.5 / under * (1 + 1e-9)
    over, bar, below = text.rpartition(" ")[2].lstrip("−").partition("⁄")
    assert not bar or (0 < int(over) < int(below) and math.gcd(int(over), int(below)) == 1)


@given(st.integers(-(10**12) + 1, 10**12 - 1))
def test_whole_numbers_are_read_as_they_are_written(number: int) -> None:
    amount = read_amount(f"{number:,}")
    assert amount is not None
    assert amount.value == number
    assert amount.shown == f"{number:,}".replace("-", "−")
    assert number % 10.0**-amount.digits == 0
    assert spell_number(amount.shown).replace("-", "").replace(" ", "").isalpha()


WORDS = [
    *("1", "-5", "0", "1/2", "3+1/4", "1e9", "1e-40", "9" * 10_000, "1e999999", "NaN", "٣", "−", "", " ", "\x1f"),
    *("to", "-", "by", "x", "±", "and(-)", "km", "mi", "ft", "in", "ftin", "m ft", "lb", "C", "K", "mpgus", "/km2"),
    *("e6km", "kg/m3", "Moilbbl", "L/100km", "stlb", "3", "-2", "999", "a" * 5_000, "-long", "{{", "m/" * 50),
]
NAMES = ["abbr", "disp", "adj", "sp", "sigfig", "round", "frac", "order", "spell", "comma", "sing", "lk"]
VALUES = """
    on off in out none ~ values unit mid pre 1 us or b sqbr comma br x number preunit unit2 table flip each 5 25 0.5
    0 -1 999 In gaps
"""


@given(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=9),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES.split()) | st.text(max_size=8), max_size=5),
    st.booleans(),
)
@settings(max_examples=500, deadline=None)
@pytest.mark.long
def test_no_call_raises(arguments: list[str], options: dict[str, str], abbreviate: bool) -> None:
    text = convert(arguments, options, abbreviate=abbreviate)
    assert text is None or (text and len(text) < 500 + 20 * sum(map(len, arguments)))


@pytest.mark.slow
def test_real_calls_are_converted(shared: Path) -> None:
    calls: list[str] = []
    with lzma.open(shared / "extraction" / "dev_pages.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            calls += re.findall(r"\{\{\s*(?:[Cc]onvert|[Cc]vt)\s*\|([^{}<>\[\]]*)\}\}", json.loads(line)["wikitext"])
    assert len(calls) > 400
    failed = [call for call in calls if shown(call) is None]
    assert len(failed) <= 0.01 * len(calls), failed


@pytest.mark.parametrize("name", ["amounts", "call", "measurement", "units"])
def test_doctests(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"bertdata.text.wikitext.convert.{name}")).failed == 0
