"""Tell languages beside py3langid, in one run, on the same texts: how often right, how often wrong where sure, and what it costs.

    python benchmarks/languages.py                   texts of ../shared/extraction, in 29 languages
    python benchmarks/languages.py --texts FILE...   lines of JSON with `language`, and `sentences` or `paragraphs`

A text is a document of five rows of one language, a row, each of its sentences (or paragraphs), and the first `--short`
characters of each.  F1 is the mean of the languages of the texts; languages that share an entry of bertdata's (`ALIKE`) count as
one, and no answer ("und") is no hit.
An answer is sure where bertdata says so, and of py3langid where its probability is at least `--sure`; a sure answer may drop a
document, so that a wrong one loses text.  MB/s is UTF-8 over processor time, of one core.

py3langid is measured with all its languages, and with only those that bertdata knows.  It is left out where it is not installed;
``pip install py3langid`` brings it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import lzma
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import NamedTuple

from ratios import ratio

from bertdata.text.language import UNKNOWN, Guess, identify
from bertdata.text.language.common_words import ALIKE, WORDS

SIZES = {"tiny": ["--texts {texts}"], "small": ["--texts {texts}"], "full": [""]}
SHARED = Path(__file__).resolve().parents[2] / "shared"
TEXTS = [SHARED / "extraction" / f"dev_{name}.jsonl.xz" for name in ("sentences", "sentences_more")]
BY_SCRIPT = "am bn bo el gu hy ja ka km kn ko lo ml my or pa si ta te th zh"  # what bertdata knows by its letters alone
STARTS = {  # a process that imports an identifier and asks it once
    "bertdata": "from bertdata.text.language import guess; guess('Tea is drunk.')",
    "py3langid": "import py3langid; py3langid.classify('Tea is drunk.')",
}
COST = """
print(time.process_time() - start)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""  # not ru_maxrss, which counts what the parent held

Tell = Callable[[str], Guess]


class Text(NamedTuple):
    """A text, what part of a row it is, and the language that it is in."""

    form: str
    language: str
    text: str


class Answers(NamedTuple):
    """What an identifier said of each text, and the processor seconds it took for each."""

    guesses: list[Guess]
    seconds: list[float]


def main() -> int:
    """Measure and print the tables; return the exit code."""
    options = _options()
    texts = list(_texts(options.texts, options.short))
    if not texts:
        sys.exit("languages.py: no texts: give lines of JSON with --texts")
    tellers: dict[str, Tell] = {"bertdata": identify}
    try:
        tellers |= {
            "py3langid": _py3langid(options.sure, None),
            "py3langid, only ours": _py3langid(options.sure, {*WORDS, *BY_SCRIPT.split()}),
        }
    except ImportError as error:
        print(f"py3langid is left out: {error} (pip install py3langid brings it)", file=sys.stderr)
    answers = _ask(tellers, texts)
    languages = sorted({text.language for text in texts})
    print(f"{len(languages)} languages, {len(texts)} texts, {sum(len(text.text.encode()) for text in texts) / 1e6:.2f} MB\n")
    for form in dict.fromkeys(text.form for text in texts):
        _compare(form, texts, answers)
    _languages(languages, texts, answers)
    print(f"\n{'start-up':24}{'CPU s':>8}{'peak MB':>9}")
    for name in filter(tellers.__contains__, STARTS):
        print(f"{name:24}{'{:8.2f}{:9.1f}'.format(*_start(STARTS[name]))}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--texts", type=Path, nargs="*", default=TEXTS, help="lines of JSON, .jsonl or .jsonl.xz")
    add("--short", type=int, default=40, help="characters of the shortest texts  [default: 40]")
    add("--sure", type=float, default=0.9, help="probability from which py3langid is sure  [default: 0.9]")
    return parser.parse_args()


def _texts(paths: list[Path], short: int) -> Iterator[Text]:
    """Return the texts of all rows that have a language: documents of five rows, rows, sentences, and their beginnings."""
    rows = []
    for path in filter(Path.is_file, paths):
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
            rows += [row for row in map(json.loads, lines) if row.get("language")]
    parts = [(plain(row["language"]), row.get("sentences") or row["paragraphs"]) for row in rows]
    whole = [Text("rows", language, "\n".join(part)) for language, part in parts if part]
    for language in dict.fromkeys(text.language for text in whole):
        own = [text.text for text in whole if text.language == language]
        yield from (Text("documents", language, "\n".join(own[at : at + 5])) for at in range(0, len(own), 5))
    yield from whole
    for form, length in (("sentences", None), (f"{short} characters", short)):
        yield from (Text(form, language, line[:length]) for language, part in parts for line in part)


def plain(code: str) -> str:
    """Return the code under which a language counts.

    >>> plain("zh-TW"), plain("nb"), plain("de")
    ('zh', 'no', 'de')
    """
    main = code.lower().split("-")[0]
    return ALIKE.get(main, main)


def _py3langid(sure: float, only: set[str] | None) -> Tell:
    """Return py3langid, of which answers of probability `sure` are sure; raise ImportError where it is not installed."""
    langid = importlib.import_module("py3langid.langid")
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    if only:
        identifier.set_languages(only & set(identifier.labels))

    def tell(text: str) -> Guess:
        language, probability = identifier.classify(text)
        return Guess(UNKNOWN if language == "zxx" else language, probability >= sure)  # zxx: no language

    return tell


def _ask(tellers: dict[str, Tell], texts: list[Text]) -> dict[str, Answers]:
    """Give each text to each identifier in turn, so that what else the machine does hits all alike."""
    answers = {name: Answers([], []) for name in tellers}
    for tell in tellers.values():
        tell("Tea is drunk.")  # what is loaded once is no text's cost
    for text in texts:
        for name, tell in tellers.items():
            start = process_time()
            guess = tell(text.text)
            answers[name].seconds.append(process_time() - start)
            answers[name].guesses.append(guess._replace(language=plain(guess.language)))
    return answers


def _compare(form: str, texts: list[Text], answers: dict[str, Answers]) -> None:
    """Print a row for each identifier: of the texts of one form."""
    chosen = [place for place, text in enumerate(texts) if text.form == form]
    size = sum(len(texts[place].text.encode()) for place in chosen)
    head = f"{form}, {len(chosen)}"
    told = dict[str, tuple[float, float]]()
    print(f"{head:24}{'F1':>8}{'right %':>9}{'wrong %':>9}{'sure %':>8}{'sure, wrong %':>15}{'MB/s':>8}")
    for name, answer in answers.items():
        truth = [texts[place].language for place in chosen]
        guesses = [answer.guesses[place] for place in chosen]
        right = sum(guess.language == language for guess, language in zip(guesses, truth, strict=True))
        unknown = sum(guess.language == UNKNOWN for guess in guesses)
        sure = [guess.language == language for guess, language in zip(guesses, truth, strict=True) if guess.sure]
        f1 = scores(truth, [guess.language for guess in guesses])
        percent = (100 * count / len(chosen) for count in (right, len(chosen) - right - unknown, len(sure), sure.count(False)))
        speed = size / 1e6 / max(1e-9, sum(answer.seconds[place] for place in chosen))
        cells = "{:9.2f}{:9.2f}{:8.2f}{:15.3f}".format(*percent)
        told[name] = sum(f1.values()) / len(f1), speed
        print(f"{name:24}{told[name][0]:8.4f}{cells}{speed:8.2f}")
    print()
    if form == "sentences" and "py3langid" in told:
        for place, (what, unit) in enumerate((("languages of sentences", "F1"), ("languages of sentences, speed", "MB/s"))):
            ratio(what, told["bertdata"][place], unit, "py3langid", told["py3langid"][place])


def _languages(languages: list[str], texts: list[Text], answers: dict[str, Answers]) -> None:
    """Print the F1 of each language, by form, of each identifier."""
    forms = list(dict.fromkeys(text.form for text in texts))
    print("F1 of " + ", ".join(forms))
    print(" " * 8 + "".join(f"{name:>28}" for name in answers))
    table = {}
    for form in forms:
        chosen = [place for place, text in enumerate(texts) if text.form == form]
        for name, answer in answers.items():
            told = [answer.guesses[place].language for place in chosen]
            table[form, name] = scores([texts[place].language for place in chosen], told)
    for language in languages:
        cells = (" ".join(f"{table[form, name].get(language, 0):.3f}" for form in forms) for name in answers)
        print(f"{language:8}" + "".join(f"{cell:>28}" for cell in cells))


def scores(truth: list[str], told: list[str]) -> dict[str, float]:
    """Return the F1 of each language of the truth.

    >>> scores(["en", "en", "de"], ["en", "de", "de"]) == {"en": 2 / 3, "de": 2 / 3}
    True
    """
    hits = Counter(language for language, other in zip(truth, told, strict=True) if language == other)
    wanted, given = Counter(truth), Counter(told)
    return {language: 2 * hits[language] / (wanted[language] + given[language]) for language in wanted}


def _start(code: str) -> tuple[float, float]:
    """Return the processor seconds to import an identifier and ask it once, and the peak megabytes of its process."""
    program = f"import time; start = time.process_time()\n{code}{COST}"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak / 1024


if __name__ == "__main__":
    sys.exit(main())
