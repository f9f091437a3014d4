"""Frame a page: head, contents, sections and foot; it has no scripts and may make no requests to a network."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import Html, tag
from .section import Section
from .style import STYLE

__all__ = ["chapter", "frame", "section_of"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # whatever a title may hold, a browser loads and runs nothing


def frame(title: str, note: str, figures: Html, contents: Sequence[tuple[str, str]], body: Sequence[Html], foot: str = "") -> str:
    """Return a page; `contents` are (name, title) of its sections."""
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title} · bertdata"),
        tag("style", Html(STYLE)),
    )
    links = tag("ul", *(tag("li", tag("a", heading, href=f"#{name}")) for name, heading in contents))
    parts = (
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", tag("bdi", title)), tag("p", note, class_="faint") if note else "", figures),
        tag("nav", links, aria_label="Contents") if contents else "",
        tag("main", *body, id="content", tabindex="-1"),
        tag("footer", foot) if foot else "",
    )
    return f"<!doctype html>\n{tag('html', tag('head', *head), tag('body', *parts), lang='en')}\n"


def section_of(section: Section) -> Html:
    """Return a section under its title."""
    heading = f"{section.name}-title"
    return tag("section", tag("h2", section.title, id=heading), section.body, id=section.name, aria_labelledby=heading)


def chapter(name: str, title: str, note: str, figures: Html, sections: Sequence[Section]) -> Html:
    """Return the chapter on one dataset, on a page of several."""
    inner = [tag("div", tag("h3", each.title), each.body, id=f"{name}-{each.name}") for each in sections]
    note_line = tag("p", note, class_="faint") if note else ""
    return tag("section", tag("h2", tag("bdi", title), id=f"{name}-title"), note_line, figures, *inner, id=name, class_="part")
