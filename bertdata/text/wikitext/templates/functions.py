"""Parser functions and variables: conditions, arithmetic, letter case, numbers and the page's name.

They have no access to the current time or other pages; functions that need them are dropped.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote_plus

from ..boxes import drop_boxes
from ..marks import FOOTNOTE, LOST, VANISHED
from ..namespaces import CATEGORY, namespace
from .braces import Argument, Parts
from .expressions import evaluate
from .formats import format_date, format_number, parse_number

_ERROR = VANISHED + '<strong class="error"></strong>'  # detected by {{#iferror:}}
_ERROR_TAG = re.compile(r"<(?:strong|span|p|div)\s([^<>]*)")
_ERROR_CLASS = re.compile(r"\bclass=\"(?:[^\"]*\s)?error\b")
_LINK = re.compile(r"\[\[([^\[\]|]*)[^\[\]]*\]\]")
_TAG = re.compile(r"<[^<>]*>")
_NUMERIC = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?", re.IGNORECASE | re.ASCII)
_MAX_PADDING = 500  # MediaWiki's own
_MAX_REPLACED = 10_000  # maximum characters of a #replace replacement


@dataclass
class Arguments:
    """The arguments of a function; each is expanded on access, so an unused branch costs nothing."""

    parts: Sequence[Argument]
    show: Callable[[Parts], str]
    title: str
    language: str
    languages: Mapping[str, str]  # names by code

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> str:
        if index >= len(self.parts):
            return ""
        key, value = self.parts[index]
        text = self.show(value)
        return (text if key is None else f"{key}={text}").strip()


def _same(left: str, right: str) -> bool:
    """Compare as numbers if both are numbers."""
    if _NUMERIC.fullmatch(left) and _NUMERIC.fullmatch(right):
        return float(left) == float(right)
    return left == right


def visible(text: str) -> str:
    """Return wikitext without tags, hidden text and links to categories."""
    text = drop_boxes(text) if "display" in text else text
    return _TAG.sub("", _LINK.sub(lambda link: "" if namespace(link[1]) == CATEGORY else link[0], text))


def _either(arguments: Arguments, first: int) -> str:
    """Return one of two branches whose condition is not known, if both show the same."""
    yes, no = arguments[first], arguments[first + 1]
    return no if LOST not in yes + no and visible(yes).split() == visible(no).split() else LOST


def _if(arguments: Arguments) -> str:
    test = arguments[0]
    return _either(arguments, 1) if LOST in test else arguments[1 if test else 2]


def _ifeq(arguments: Arguments) -> str:
    left, right = arguments[0], arguments[1]
    return _either(arguments, 2) if LOST in left + right else arguments[2 if _same(left, right) else 3]


def _iferror(arguments: Arguments) -> str:
    # A failed {{#expr:}} writes a <strong class="error"> without words, which only this function looks for.
    tested = arguments[0]
    if any(map(_ERROR_CLASS.search, _ERROR_TAG.findall(tested))):
        return arguments[1]
    return arguments[2] if len(arguments) > 2 else tested


def _expr(arguments: Arguments) -> str:
    value = LOST if LOST in arguments[0] else evaluate(arguments[0])
    return _ERROR if value is None else value


def _ifexpr(arguments: Arguments) -> str:
    value = _expr(arguments)
    return value if value in (_ERROR, LOST) else arguments[1 if value not in ("", "0", "-0") else 2]


def _switch(arguments: Arguments) -> str:
    """Return the value of the first case that equals the first argument; a case without a value uses that of the next."""
    wanted = arguments[0]
    if LOST in wanted:
        return LOST
    number = _NUMERIC.fullmatch(wanted)
    falling = falling_default = False
    default: Parts = ""
    last = ""
    # {{#switch: x | a | b = 1 | c = 2 | 3}}: "a" has no value and takes that of "b". The last case without a name, "3", is
    # the default, and so is a value after "#default". Cases are compared in order, and only the chosen value is expanded.
    for key, value in arguments.parts[1:]:
        case = arguments.show(value).strip() if key is None else key.strip()
        falling = falling or case == wanted or (number is not None and _same(case, wanted))
        falling_default = falling_default or case == "#default"
        last = case if key is None else ""
        if key is None:
            continue
        if falling:
            return arguments.show(value).strip()
        if falling_default:
            default, falling_default = value, False
    return last or arguments.show(default).strip()


def _formatnum(arguments: Arguments) -> str:
    option, number = arguments[1].upper(), arguments[0]
    return number if option == "NOSEP" else (parse_number if option == "R" else format_number)(number, arguments.language)


def _padding(arguments: Arguments) -> str:
    fill = arguments[2] or "0"
    wanted = int(arguments[1]) if arguments[1].isdecimal() and len(arguments[1]) < 9 else 0
    missing = min(wanted, _MAX_PADDING) - len(arguments[0])
    return (fill[:_MAX_PADDING] * missing)[: max(missing, 0)]


def _language(arguments: Arguments) -> str:
    """Return the name of a language, or the code if the table does not have it."""
    code = arguments[0].lower()
    return arguments.languages.get(code) or arguments.languages.get(code.partition("-")[0], arguments[0])


def _replace(arguments: Arguments) -> str | None:
    text, old, new = arguments[0], arguments[1], arguments[2]
    if not old:
        return text
    return text.replace(old, new) if text.count(old) * len(new) <= _MAX_REPLACED else None


Shown = Callable[[Arguments], str | None]  # None: no words

_TITLES = ["pagename", "fullpagename", "basepagename", "subpagename", "rootpagename", "articlepagename", "subjectpagename"]
VARIABLES: dict[str, Shown] = {
    "!": lambda arguments: "|",
    "=": lambda arguments: "=",
    **dict.fromkeys(_TITLES, lambda arguments: arguments.title),
    **dict.fromkeys([f"{name}e" for name in _TITLES], lambda arguments: quote_plus(arguments.title.replace(" ", "_"))),
    **dict.fromkeys(["namespace", "articlespace", "subjectspace", "namespacee"], lambda arguments: ""),  # none for articles
    "namespacenumber": lambda arguments: "0",
}
PLAIN_FUNCTIONS: dict[str, Shown] = {**VARIABLES, "formatnum": _formatnum}  # without a table, only these
FUNCTIONS: dict[str, Shown] = {
    **PLAIN_FUNCTIONS,
    "lc": lambda arguments: arguments[0].lower(),
    "uc": lambda arguments: arguments[0].upper(),
    "lcfirst": lambda arguments: arguments[0][:1].lower() + arguments[0][1:],
    "ucfirst": lambda arguments: arguments[0][:1].upper() + arguments[0][1:],
    "padleft": lambda arguments: _padding(arguments) + arguments[0],
    "padright": lambda arguments: arguments[0] + _padding(arguments),
    "#replace": _replace,
    "#if": _if,
    "#ifeq": _ifeq,
    "#iferror": _iferror,
    "#ifexpr": _ifexpr,
    "#switch": _switch,
    "#expr": _expr,
    "#language": _language,
    "#tag": lambda arguments: FOOTNOTE if arguments[0].lower() == "ref" else None,
    "#time": lambda arguments: format_date(arguments[0], arguments[1], arguments.language),
    "urlencode": lambda arguments: quote_plus(arguments[0]),
    "ns": lambda arguments: "" if arguments[0] == "0" else arguments[0].replace("_", " "),
}
