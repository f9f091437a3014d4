"""Turn the sample pages in this folder into small, real MediaWiki dumps that `bertdata demo` can read.

Usage, from anywhere:

    python examples/sample/build.py            # write bertdata/sample/sample*wiki-*.bz2
    python examples/sample/build.py --check    # exit 1 when those dumps do not match the pages

A page source is a few `name: value` lines (`title`, and if wanted `redirect`, `ns`, `model`), an empty
line, then wikitext:

    title: Sea salt
    redirect: Salt

    #REDIRECT [[Salt]]

The dumps have the form of Wikimedia's own "multistream" dumps, export schema 0.11: one bz2 stream with
the header, then one bz2 stream for every `PAGES_PER_STREAM` pages, then one with the closing tag. The
index has a line `offset:page id:title` for each page, where `offset` is the byte at which the page's
stream begins. Identifiers and times are functions of a source file's name, so a rebuild produces the same
dump.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parents[1] / "bertdata" / "sample"

DATE = "20261101"
PAGES_PER_STREAM = 10  # Wikimedia puts 100 in each; a sample this small would then be a single stream.
FIRST_TIMESTAMP = datetime(2026, 1, 1, tzinfo=timezone.utc)
TIMESTAMP_SPAN = 300 * 24 * 3600  # seconds: every revision is older than DATE
EDITORS = ("Marrow", "Tidewaiter", "Old Compositor", "Quillwork", "Fenland Hare")
COMMENTS = ("Copyedit", "/* History */ shorter & clearer", "Add a source", "Fix a link", "")
FORMATS = {"wikitext": "text/x-wiki", "css": "text/css"}  # MediaWiki serialises each model in its own format
HEADER_FIELDS = frozenset({"title", "redirect", "ns", "model"})

NAMESPACES_EN = {
    -2: "Media", -1: "Special", 0: "", 1: "Talk", 2: "User", 3: "User talk", 4: "Sample", 5: "Sample talk",
    6: "File", 7: "File talk", 8: "MediaWiki", 9: "MediaWiki talk", 10: "Template", 11: "Template talk",
    12: "Help", 13: "Help talk", 14: "Category", 15: "Category talk", 100: "Portal", 101: "Portal talk",
    118: "Draft", 119: "Draft talk", 828: "Module", 829: "Module talk",
}  # fmt: skip
NAMESPACES_ZH = {
    -2: "媒体文件", -1: "特殊", 0: "", 1: "讨论", 2: "用户", 3: "用户讨论", 4: "样例", 5: "样例讨论",
    6: "文件", 7: "文件讨论", 8: "MediaWiki", 9: "MediaWiki讨论", 10: "模板", 11: "模板讨论",
    12: "帮助", 13: "帮助讨论", 14: "分类", 15: "分类讨论", 100: "主题", 101: "主题讨论",
    118: "草稿", 119: "草稿讨论", 828: "模块", 829: "模块讨论",
}  # fmt: skip


class SourceError(ValueError):
    """A page source that cannot be read; the message names the file and how to fix it."""


@dataclass(frozen=True, kw_only=True)
class Wiki:
    """A wiki: the location of its pages, and the header of its dump."""

    language: str
    sitename: str
    main_page: str
    namespaces: dict[int, str]

    @property
    def dbname(self) -> str:
        """Name of the database, as in the dump's file name."""
        return f"sample{self.language}wiki"

    @property
    def pages(self) -> Path:
        """Folder of the page sources."""
        return HERE / f"pages-{self.language}"

    @property
    def dump_name(self) -> str:
        """File name of the dump."""
        return f"{self.dbname}-{DATE}-pages-articles-multistream.xml.bz2"

    @property
    def index_name(self) -> str:
        """File name of the index."""
        return f"{self.dbname}-{DATE}-pages-articles-multistream-index.txt.bz2"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page source, as read; `number` is the number its file name starts with."""

    name: str
    number: int
    title: str
    ns: int
    redirect: str
    model: str
    text: str

    @property
    def page_id(self) -> int:
        """Page id: the number spread out a little, as ids on a real wiki are."""
        return 100 + 7 * self.number


WIKIS = (
    Wiki(language="en", sitename="Sample Wiki", main_page="Main_Page", namespaces=NAMESPACES_EN),
    Wiki(language="zh", sitename="样例百科", main_page="%E9%A6%96%E9%A1%B5", namespaces=NAMESPACES_ZH),
)


def read_page(path: Path) -> Page:
    """Read one page source; raise `SourceError` if its name or header is invalid."""
    number, _, slug = path.stem.partition("-")
    if not (number.isdigit() and slug):
        raise SourceError(f"{path}: the name is not NNN-slug.wiki; rename the file")
    header, separator, text = path.read_text(encoding="utf-8").partition("\n\n")
    fields: dict[str, str] = {}
    for line in header.splitlines():
        name, _, value = line.partition(":")
        if name not in HEADER_FIELDS or not value.strip():
            wanted = ", ".join(sorted(HEADER_FIELDS))
            raise SourceError(f"{path}: {line!r} is not `name: value` with a name of {wanted}; correct it")
        fields[name] = value.strip()
    if "title" not in fields or not separator:
        raise SourceError(f"{path}: begin with a line `title: ...`, then an empty line, then the text")
    if fields.get("model", "wikitext") not in FORMATS:
        raise SourceError(f"{path}: model {fields['model']!r} is not one of {', '.join(FORMATS)}; correct it")
    return Page(
        name=path.stem,
        number=int(number),
        title=fields["title"],
        ns=int(fields.get("ns", "0")),
        redirect=fields.get("redirect", ""),
        model=fields.get("model", "wikitext"),
        text=text.rstrip(),
    )


def read_pages(wiki: Wiki) -> list[Page]:
    """Read all pages of a wiki, in page-id order as in a real dump."""
    pages = sorted((read_page(path) for path in wiki.pages.glob("*.wiki")), key=lambda page: page.number)
    if not pages:
        raise SourceError(f"{wiki.pages}: no .wiki files; run this from a full checkout")
    for what in ("number", "title"):
        values = [getattr(page, what) for page in pages]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise SourceError(f"{wiki.pages}: two pages have the same {what} {twice[0]!r}; change one")
    return pages


def escape(text: str) -> str:
    """Escape text as MediaWiki's XmlDumpWriter does: `&`, `<`, `>` and `"`, and not the apostrophe.

    >>> escape('<ref name="a">R&D</ref>')
    '&lt;ref name=&quot;a&quot;&gt;R&amp;D&lt;/ref&gt;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def sha1_base36(text: str) -> str:
    """Return the SHA-1 of a text as MediaWiki stores it: in base 36, padded to 31 digits.

    >>> sha1_base36("")
    'phoiac9h4m842xq45sp7s6u21eteeq1'
    """
    number = int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest(), "big")
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.zfill(31)


def render_header(wiki: Wiki) -> str:
    """Return the first stream: the root element and `<siteinfo>`."""
    schema = "http://www.mediawiki.org/xml/export-0.11"
    lines = [
        f'<mediawiki xmlns="{schema}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        f' xsi:schemaLocation="{schema}/ {schema}.xsd" version="0.11" xml:lang="{wiki.language}">',
        "  <siteinfo>",
        f"    <sitename>{wiki.sitename}</sitename>",
        f"    <dbname>{wiki.dbname}</dbname>",
        f"    <base>https://{wiki.language}.sample.example/wiki/{wiki.main_page}</base>",
        "    <generator>MediaWiki 1.45.0-wmf.1</generator>",
        "    <case>first-letter</case>",
        "    <namespaces>",
    ]
    for key, name in wiki.namespaces.items():
        tag = f'      <namespace key="{key}" case="first-letter"'
        lines.append(f"{tag}>{name}</namespace>" if name else f"{tag} />")
    return "\n".join([*lines, "    </namespaces>", "  </siteinfo>", ""])


def render_page(page: Page) -> str:
    """Return one `<page>` element with its one revision."""
    seed = zlib.crc32(page.name.encode())
    revision = 1_300_000_000 + seed % 10_000_000
    timestamp = FIRST_TIMESTAMP + timedelta(seconds=seed % TIMESTAMP_SPAN)
    editor, comment = seed % len(EDITORS), COMMENTS[seed // 7 % len(COMMENTS)]
    size, sha1 = len(page.text.encode()), sha1_base36(page.text)
    redirect = f'    <redirect title="{escape(page.redirect)}" />\n' if page.redirect else ""
    minor = "      <minor />\n" if seed % 3 == 0 else ""
    comment = f"      <comment>{escape(comment)}</comment>\n" if comment else ""
    return (
        "  <page>\n"
        f"    <title>{escape(page.title)}</title>\n"
        f"    <ns>{page.ns}</ns>\n"
        f"    <id>{page.page_id}</id>\n"
        f"{redirect}"
        "    <revision>\n"
        f"      <id>{revision}</id>\n"
        f"      <parentid>{revision - 1 - seed % 9973}</parentid>\n"
        f"      <timestamp>{timestamp:%Y-%m-%dT%H:%M:%SZ}</timestamp>\n"
        "      <contributor>\n"
        f"        <username>{EDITORS[editor]}</username>\n"
        f"        <id>{4100 + 31 * editor}</id>\n"
        "      </contributor>\n"
        f"{minor}{comment}"
        f"      <origin>{revision}</origin>\n"
        f"      <model>{page.model}</model>\n"
        f"      <format>{FORMATS[page.model]}</format>\n"
        f'      <text bytes="{size}" sha1="{sha1}" xml:space="preserve">{escape(page.text)}</text>\n'
        f"      <sha1>{sha1}</sha1>\n"
        "    </revision>\n"
        "  </page>\n"
    )


def batches(pages: Sequence[Page]) -> Iterator[Sequence[Page]]:
    """Cut the pages into the groups that share a bz2 stream."""
    for start in range(0, len(pages), PAGES_PER_STREAM):
        yield pages[start : start + PAGES_PER_STREAM]


def render_dump(wiki: Wiki, pages: Sequence[Page]) -> tuple[bytes, bytes]:
    """Return the compressed bytes of the multistream dump and of its index."""
    dump = bz2.compress(render_header(wiki).encode())
    index: list[str] = []
    for batch in batches(pages):
        # Wikimedia's index is cut from the XML, so its titles keep their escapes (`AT&amp;T`).
        index += [f"{len(dump)}:{page.page_id}:{escape(page.title)}\n" for page in batch]
        dump += bz2.compress("".join(map(render_page, batch)).encode())
    dump += bz2.compress(b"</mediawiki>\n")
    return dump, bz2.compress("".join(index).encode())


def differences(name: str, wanted: bytes) -> str:
    """Return how the named file in `OUTPUT`, once decompressed, differs from `wanted`; '' if it does not."""
    path = OUTPUT / name
    if not path.exists():
        return f"{path} is missing"
    try:
        same = bz2.decompress(path.read_bytes()) == bz2.decompress(wanted)
    except OSError as error:
        return f"{path} is not a whole bz2 file ({error})"
    return "" if same else f"{path} does not match the pages"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the dumps, or with `--check` compare them; return the exit status."""
    parser = argparse.ArgumentParser(description="Build the sample dumps from the pages in examples/sample.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when a dump is stale")
    check = parser.parse_args(arguments).check
    problems: list[str] = []
    for wiki in WIKIS:
        try:
            pages = read_pages(wiki)
        except SourceError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        dump, index = render_dump(wiki, pages)
        for name, data in ((wiki.dump_name, dump), (wiki.index_name, index)):
            if check:
                problems += filter(None, [differences(name, data)])
            else:
                OUTPUT.mkdir(parents=True, exist_ok=True)
                (OUTPUT / name).write_bytes(data)
                print(f"{name}: {len(pages)} pages, {len(data):,} bytes")
    for problem in problems:
        print(f"error: {problem}; run `python examples/sample/build.py`, commit the result", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
