"""The tables of templates: what Wikipedias in other languages show for calls in running prose."""

from pathlib import Path

import pytest
from conftest import REPOSITORY
from footing import Extractor, extract_paragraphs

from bertdata.config import read_toml
from bertdata.text.wikitext import load_templates

FOLDER = REPOSITORY / "bertdata" / "text" / "wikitext" / "templates" / "tables"
TABLES = sorted(FOLDER.glob("*.toml"))

WORDLESS = """
en | {{Short description|a}}{{Use dmy dates}}{{Infobox island|a={{b}}}}{{pp-move-indef}}{{Taxobox|c}}
en | {{Main|a}}{{cite journal|b}}{{Reflist}}{{Commons category|c}}{{Sea-stub}}{{Navboxes|d}}{{Authority control}}{{div col}}
ja | {{基礎情報 国|a}}{{Main2|b|c}}{{Reflist}}{{Normdaten}}{{ウィキポータルリンク|d}}{{Cite book|e}}
zh | {{主条目|a}}{{Authority control}}{{cite book en|b}}{{多個問題}}{{science-footer}}
it | {{Cita libro|a}}{{Portale|b}}{{Controllo di autorità}}{{Tassobox|c}}{{Vedi anche|d}}
xx | {{Infobox a|b}}{{reflist}}{{a-stub}}{{commonscat}}
"""


@pytest.mark.parametrize("line", WORDLESS.strip().split("\n"))
def test_what_has_no_words_is_not_counted_as_dropped(line: str) -> None:
    """The manifest lists what lost words, and not the citations and boxes of every page."""
    language, _, wikitext = line.partition(" | ")
    found = Extractor(templates=load_templates(language))(wikitext + "{{n|m}}")
    assert (found.paragraphs, found.dropped_templates) == ([], {"n": 1})


ADA = "{{Bio|Nome=Ada|Cognome=Riva|Sesso=F|LuogoNascita=Porto Alto|GiornoMeseNascita=9 marzo|AnnoNascita=1900"
LEO = "{{Bio|Nome=Leo|Cognome=Riva|Sesso=M|Attività=scrittore|Nazionalità=italiano"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ADA + "|Attività=attrice|Nazionalità=italiano}}", "Ada Riva (Porto Alto, 9 marzo 1900) è un'attrice italiana."),
        (
            ADA + "|LuogoMorte=Roma|AnnoMorte=1980|Attività=pittrice|Attività2=poetessa|Nazionalità=russo}}",
            "Ada Riva (Porto Alto, 9 marzo 1900 – Roma, 1980) è stata una pittrice e poetessa russa.",
        ),
        (LEO + "|Attività2=poeta|Attività3=pittore}}", "Leo Riva è uno scrittore, poeta e pittore italiano."),
        (LEO + "|PostNazionalità=, noto per i fari}}", "Leo Riva è uno scrittore italiano, noto per i fari."),
        (LEO + "|PreAttività=fu uno|AnnoMorte=1980}}", "Leo Riva (1980) fu uno scrittore italiano."),
        (LEO + "|PostCognomeVirgola=detto il Faro}}", "Leo Riva, detto il Faro è uno scrittore italiano."),
        (LEO + "|PreData=in francese ''Léo''|AnnoNascita=1900}}", "Leo Riva (in francese Léo; 1900) è uno scrittore italiano."),
        (LEO + "|FineIncipit=è il guardiano del faro}}", "Leo Riva è il guardiano del faro."),
        ("{{Bio|Nome=Leo}}\nVive qui.", "Leo. Vive qui."),
    ],
)
def test_the_first_sentence_of_an_italian_life(call: str, expected: str) -> None:
    assert extract_paragraphs(call, language="it", templates=load_templates("it")) == [expected]


@pytest.mark.parametrize(("variant", "expected"), [("", "英語：a、海"), ("zh-cn", "英语：a、海"), ("zh-tw", "英語：a、海")])
def test_labels_follow_the_variant(variant: str, expected: str) -> None:
    wiki = Extractor(language="zh", variant=variant, templates=load_templates("zh"))
    assert wiki("{{lang-en|a}}、{{le|海|Sea}}").paragraphs == [expected]


def test_a_language_without_a_name_shows_its_words() -> None:
    for language in [path.stem for path in TABLES if "langx" in read_toml(path)["templates"] and path.stem != "en"]:
        found = extract_paragraphs("A ({{lang-qqx|b}}).", language=language, templates=load_templates(language))
        assert found in (["A (b)."], ["A ((b))."])


def test_names() -> None:
    """Names are written as they are looked up, each once."""
    for path in TABLES:
        table = read_toml(path)
        names = [name for key in table["templates"] for name in key.split(" | ")] + table.get("footnotes", [])
        assert [name for name in names if name != " ".join(name.lower().replace("_", " ").split())] == []
        assert sorted({name for name in names if names.count(name) > 1}) == []
        assert load_templates(path.stem)


@pytest.mark.parametrize("path", [path for path in TABLES if path.stem != "common"], ids=lambda path: path.stem)
def test_nothing_is_said_twice(path: Path) -> None:
    """What every wiki has is not repeated in the table of a language."""

    def bodies(path: Path) -> dict[str, str]:
        return {name: body for key, body in read_toml(path)["templates"].items() for name in key.split(" | ")}

    everywhere = bodies(FOLDER / "common.toml")
    assert [name for name, body in bodies(path).items() if everywhere.get(name) == body] == []


def test_other_wikis_know_what_has_no_words_in_english() -> None:
    """Wikis take templates with their English names: marks and boxes are known, English words are not put in."""
    text = "Nyumba{{clarify|date=May 2010}} ni kubwa {{use dmy dates|a}}{{as of|2010}}."
    found = Extractor(language="sw", templates=load_templates("sw"))(text)
    assert (found.paragraphs, found.dropped_templates) == (["Nyumba ni kubwa."], {"as of": 1})


@pytest.mark.parametrize(
    ("language", "call", "text"),
    [
        ("ja", "c{{Sup|2}} = a{{Sup|2}}", "c² = a²"),
        ("en", "H{{sub|2}}O, {{val|5|u=m/s2}}, {{val|9|u=km2}}", "H₂O, 5 m/s², 9 km²"),
        ("de", "10{{hochgestellt|7}}", "10⁷"),
        ("it", "10{{apice|7}}", "10⁷"),
        ("es", "10{{superíndice|7}}", "10⁷"),
    ],
)
def test_templates_raise_and_lower_numbers(language: str, call: str, text: str) -> None:
    wiki = Extractor(language=language, templates=load_templates(language), math="text")
    assert wiki(call).paragraphs == [text]
