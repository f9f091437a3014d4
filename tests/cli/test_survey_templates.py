"""`bertdata templates`: the share of calls in prose that no table knows, with names and lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run

from bertdata.stages.templates import survey_dumps
from bertdata.text.wikitext import load_templates
from bertdata.text.wikitext.templates.survey import Survey, survey

PAGES = {
    "Tea": "Some like {{warm tea}} and {{nowrap|cold tea}}, {{warm tea|2}}.<ref>In {{a book}}.</ref>\n\n{{Infobox tea|a={{x}}}}",
    "Lists": "* a {{list item}}\n{| \n| a {{cell}}\n|}\n== A {{heading}} ==\n{{a box\n|b=c}} The box is {{green thing}}.",
    "Moved": "#REDIRECT [[Tea]] {{a redirect}}",
}


def dump(path: Path, language: str = "en") -> Path:
    site = f"<siteinfo><dbname>{language}wiki</dbname><base>https://{language}.wikipedia.org/wiki/X</base></siteinfo>"
    pages = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><id>1</id>"
        f"<text>{text.replace('<', '&lt;')}</text></revision></page>\n"
        for number, (title, text) in enumerate(PAGES.items(), 1)
    )
    path.write_text(f'<mediawiki xml:lang="{language}">{site}\n{pages}</mediawiki>', encoding="utf-8")
    return path


def test_calls_in_prose_are_counted_and_nothing_else(tmp_path: Path) -> None:
    (language, found), *others = survey_dumps([str(dump(tmp_path / "a.xml"))]).items()
    assert (language, others) == ("en", [])
    assert found.unknown == {"warm tea": 2, "a box": 1, "green thing": 1}
    assert found.calls == 5
    assert found.examples["green thing"].endswith("The box is {{green thing}}.")


def test_the_command_shows_shares_names_and_lines(tmp_path: Path, run: Run) -> None:
    path = dump(tmp_path / "a.xml")
    shown = run("templates", path, "--most", 1).stdout.splitlines()
    assert shown[0] == "en: 5 template calls in prose, 80.0 % of them of 3 unknown templates"
    assert shown[1].split() == ["2", "warm", "tea"]
    assert shown[2].strip() == "Some like {{warm tea}} and {{nowrap|cold tea}}, {{warm tea|2}}."
    assert len(shown) == 3
    (tmp_path / "mine.toml").write_text('[templates]\n"warm tea | a box" = ""\n', encoding="utf-8")
    shown = run("templates", path, "--templates", tmp_path / "mine.toml").stdout.splitlines()
    assert shown[0] == "en: 5 template calls in prose, 20.0 % of them of 1 unknown template"
    assert run("templates", path, "--pages", 1).stdout.startswith("en: 3 template calls in prose, 66.7 %")


def test_a_long_line_of_calls_is_no_work() -> None:
    found = Survey()
    survey("word " + "{{n|a}}" * 30_000, load_templates("en"), found)
    assert found.calls == found.unknown["n"] == 30_000


@pytest.mark.long
def test_known_shares_of_real_wikis(shared: Path) -> None:
    """Each of the wikis whose first pages are there is known but for 3 % of the calls in its prose."""
    found = survey_dumps([str(path) for path in sorted((shared / "data" / "wiki").glob("*wiki-20230501-*.xml.bz2"))])
    shares = {language: each.unknown.total() / each.calls for language, each in found.items()}
    assert len(shares) >= 7
    assert all(each.calls > 50 for each in found.values())
    assert max(shares.values()) < 0.03, shares


@pytest.mark.parametrize("language", ["en", "hy"])
def test_examples_show_no_marks(shared: Path, language: str) -> None:
    (found,) = survey_dumps([str(path) for path in (shared / "data" / "wiki").glob(f"{language}wiki-202*.xml.bz2")]).values()
    assert found.examples
    assert not any(re.search(r"[\x00-\x1f\ufdd0-\ufdef]", line) for line in found.examples.values())
