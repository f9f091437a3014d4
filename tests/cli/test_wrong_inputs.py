"""What a new user gets wrong: configuration files, commands, codes, columns, names; each error says where and what to do."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from conftest import Build, Run, read_manifest, read_rows
from tokenizers import Tokenizer

from bertdata import errors
from bertdata.cli import cli
from bertdata.config import CorpusConfig, FilterConfig, languages
from bertdata.config.train import parse_training
from bertdata.errors import BertDataError, UsageError
from bertdata.reports import trace
from bertdata.sources import tables
from bertdata.tokens import vocab
from bertdata.tokens.read import read_any, says_accents
from bertdata.tokens.vocab import SPECIAL, Vocabulary


def test_doctests() -> None:
    assert not any(doctest.testmod(module).failed for module in (errors, languages, trace, tables))


def outcome(*arguments: object) -> tuple[int, str]:
    """Run a command in this process; return its exit code and all that it says."""
    done = CliRunner().invoke(cli, [*map(str, arguments)])
    code = done.exception.exit_code if isinstance(done.exception, BertDataError) else done.exit_code
    return code, f"{done.output}{done.exception or ''}"


# --- configuration files ---


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("build-corpus", 'books = "dir"', "'books' must be inside a [command] table: use [build-corpus]"),
        ("build-corpus", "build-corpus = 3", "build-corpus is 3: write [build-corpus]"),
        ("build-corpus", "[build_corpus]\nseed = 1", "'build_corpus' is not a command: did you mean 'build-corpus'?"),
        ("build-corpus", "[build-corpus]\nbook = 1", "[build-corpus] has no option 'book': did you mean 'books'"),
        ("build-corpus", "[build-corpus]\nmax_documents = 1", "has no option 'max_documents': did you mean 'max-documents'"),
        ("build-corpus", "[build-corpus]\nbeam_args = 'x'", "has no option 'beam_args'"),
        ("build-corpus", "[build-corpus]\nno-inline-templates = true", "'no-inline-templates': write inline-templates = false"),
        ("build-corpus", "[build-corpus]\nbooks = 3", "[build-corpus] books is 3: expected a string, or a list of them"),
        ("build-corpus", "[build-corpus]\nbooks = [1]", "[build-corpus] books is 1: expected a string, or a list of them"),
        ("build-corpus", "[build-corpus]\nlanguage = ['en']", "[build-corpus] language is ['en']: expected a string"),
        ("build-corpus", "[build-corpus]\nseed = 'x'", "[build-corpus] seed is 'x': expected an integer"),
        ("build-corpus", "[build-corpus]\nseed = 1.5", "[build-corpus] seed is 1.5: expected an integer"),
        ("build-corpus", "[build-corpus]\nseed = true", "[build-corpus] seed is True: expected an integer"),
        ("build-corpus", "[build-corpus]\nmax-rejects = 'half'", "[build-corpus] max-rejects is 'half': expected a number"),
        ("build-corpus", "[build-corpus]\nworkers = 0", "[build-corpus] workers: 0 is not in the range"),
        ("build-corpus", "[build-corpus]\ndedup-paragraphs = 'yes'", "dedup-paragraphs is 'yes': expected true or false"),
        ("build-corpus", "[build-corpus]\nformat = 'csv'", "[build-corpus] format: 'csv' is not one of"),
        (
            "build-corpus",
            "[build-corpus]\nwikipedia = 'd'\ntemplates = 'none.toml'",
            "[build-corpus] templates: --templates none.toml: no such file",
        ),
        ("build-corpus", "[build-corpus]\nlanguages = 'english'", "[build-corpus] languages: --languages: 'english' is not a"),
        ("build-corpus", "[build-corpus]\nlanguages = ['en', 'jp']", "'jp' is not a language code: use ja"),
        ("build-corpus", "[build-corpus]\nbooks = 'none'", "[build-corpus] books: --books none: no file of this name"),
        ("build-corpus", "[build-corpus]\nmax-rejects = 2", "[build-corpus] max-rejects: --max-rejects: use a share"),
        ("train-vocab", "[train-vocab]\nsize = 3", "[train-vocab] size: --size: use 64"),
        ("make-pairs", "[make-pairs]\nmax-seq-length = 9", "[make-pairs] max-seq-length: --max-seq-length"),
        (
            "make-pairs",
            "[make-pairs]\nmax-seq-length = '128'",
            "[make-pairs] max-seq-length is '128': expected an integer",
        ),
    ],
)
def test_an_error_of_a_configuration_file_names_file_table_and_key(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, command: str, text: str, says: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    given: dict[str, list[object]] = {
        "build-corpus": [],
        "train-vocab": [sample_corpus],
        "make-pairs": [sample_corpus, "--vocab", sample_vocab],
    }
    code, said = outcome(command, *given[command], "--output", tmp_path / "out", "--config", path)
    assert code == 2 and f"{path}: " in said and says in said, said


def test_a_string_does_where_a_list_may_stand(build: Build, text: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f'[build-corpus]\ntext = "{text}"\nlanguages = "en"\nmax-rejects = 0\n', encoding="utf-8")
    made = read_manifest(build("build-corpus", tmp_path / "corpus", "--config", config))
    assert made["config"]["filters"]["languages"] == ["en"] and made["inputs"][0]["name"] == text.name
    config.write_text("[make-pairs]\nmax-seq-length = 64\n", encoding="utf-8")
    vocabulary = build("train-vocab", tmp_path / "vocab", tmp_path / "corpus", "--size", 900)
    arguments = ["--vocab", vocabulary, "--config", config, "--dry-run"]
    build("make-pairs", tmp_path / "pairs", tmp_path / "corpus", *arguments)


def test_an_error_of_the_command_line_names_no_file(text: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[build-corpus]\nmax-rejects = 0.5\n", encoding="utf-8")
    arguments = ["build-corpus", "--text", text, "--output", tmp_path / "x", "--config", tmp_path / "run.toml"]
    assert outcome(*arguments, "--max-rejects", 2) == (2, "--max-rejects: use a share between 0 and 1")


def test_an_unknown_key_of_a_training_run_names_the_like() -> None:
    with pytest.raises(UsageError, match=r"run.toml: unknown key model.hiden_size: did you mean 'hidden_size'"):
        parse_training("run.toml", "[model]\nhiden_size = 3\n[[phases]]\nshards = 'x'\nsteps = 1\n")


# --- commands and codes ---


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["build"], "No such command 'build'."),
        (["make_pairs"], "Did you mean 'make-pairs'?"),
        (["vreify"], "Did you mean 'verify'?"),
        (["nope"], "Try 'cli --help' for help."),
        (["download", "wiki"], "No such command 'wiki'. Did you mean 'wikipedia'?"),
    ],
)
def test_a_command_that_there_is_not_names_the_like(arguments: list[str], says: str) -> None:
    code, said = outcome(*arguments)
    assert code == 2 and says in said


MEANT = {"english": "en", "jp": "ja", "cn": "zh", "x": "a code such as", "qq": "a code such as"}


@pytest.mark.parametrize(("code", "meant"), MEANT.items())
def test_codes_of_languages_are_checked_first(code: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"^`languages`: '{code}' is not a language code: use {meant}"):
        FilterConfig(languages=("en", code))
    with pytest.raises(UsageError, match=f"^`language`: '{code}' is not a language code: use {meant}"):
        CorpusConfig(language=code)


def test_codes_of_wikipedias_and_bcp_47_are_taken() -> None:
    given = "en zh zh-TW zh_classical zh-min-nan simple yue be-tarask bat-smg roa-rup map-bms cbk-zam nds-nl und sh mo lzh"
    codes = given.split(" ")
    assert FilterConfig(languages=tuple(codes)).languages == tuple(codes)


def test_codes_are_looked_at_before_anything_is_read(text: Path, tmp_path: Path) -> None:
    code, said = outcome("build-corpus", "--text", text, "--output", tmp_path / "x", "--languages", "english")
    assert (code, said) == (2, "--languages: 'english' is not a language code: use en")
    assert not (tmp_path / "x").exists()


# --- what is empty, too large, or does nothing ---


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--text", ""], "--text: the name is empty"),
        (["--output", ""], "a path is empty"),
        (["--text-column", ""], "--text-column: empty. Use the name of a column"),
        (["--max-page-bytes", 10**21], "--max-page-bytes: use 1,024 to 2,147,483,648"),
        (["--templates", __file__], "--templates does nothing without --wikipedia"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: Path, tmp_path: Path, arguments: list[object], says: str) -> None:
    code, said = outcome("build-corpus", "--text", text, "--output", tmp_path / "x", *arguments)
    assert code == 2 and says in said
    assert not (tmp_path / "x").exists()


def test_an_empty_vocabulary_or_corpus_is_not_the_working_directory(sample_corpus: Path, tmp_path: Path) -> None:
    assert "a path is empty" in outcome("make-pairs", sample_corpus, "--vocab", "", "--output", tmp_path / "x")[1]
    for command in ("inspect", "verify"):
        assert "a path is empty" in outcome(command, "")[1]


# --- columns ---


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
def test_a_column_that_there_is_not_names_those_that_are(tmp_path: Path, form: str) -> None:
    rows = [{"id": str(number), "body": f"Tea is drunk at {number}. Cake too."} for number in range(9)]
    path = tmp_path / f"table.{form}"
    if form == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, pa.Table.from_pylist(rows).schema) as writer:
            writer.write_table(pa.Table.from_pylist(rows))
    arguments = ["build-corpus", "--text", path, "--workers", 1, "--text-column", "txt", "--output"]
    if form != "jsonl":  # whose columns are known before a row is read
        assert outcome(*arguments, tmp_path / "out") == (
            2,
            f"{path} has no column 'txt': set --text-column to one of 'id', 'body'",
        )
        return
    told = "nothing in the column 'txt' where text should be; the columns there: id, body"
    for more in [], ["--max-rejects", 1]:
        code, said = outcome(*arguments, tmp_path / "out", *more)
        assert code == 3 and "became a document" in said and told in said
    arguments[arguments.index("txt")] = "body"
    assert outcome(*arguments, tmp_path / "out")[0] == 0  # the failed run kept nothing, so other options need no --overwrite


# --- inspect --explain ---


def test_explain_finds_titles_and_files(run: Run, sample_corpus: Path, build: Build, text: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", text, "--min-characters", 2000)
    assert read_manifest(corpus)["drops"]
    title = read_rows(corpus)[0]["title"]
    for name in (title, title.upper()):
        shown = run("inspect", corpus, "--explain", name).stdout
        assert "is in data/train-00000-of-00001.arrow, row" in shown and shown.count("text:text.jsonl:") == 1
    shown = run("inspect", corpus, "--explain", "text.jsonl").stdout
    assert shown.count("text:text.jsonl:") == 20 and "and 380 more of text.jsonl" in shown
    (name,) = [entry["name"] for entry in read_manifest(sample_corpus)["inputs"] if entry["name"].startswith("keeper")]
    assert f"books:{name.removesuffix('.txt')} is in data/" in run("inspect", sample_corpus, "--explain", name).stdout


def test_explain_finds_ids_of_a_table(run: Run, build: Build, tmp_path: Path) -> None:
    table = tmp_path / "notes.jsonl"
    rows = [{"id": f"a:{n}", "text": f"Note {n}. The kettle sang."} for n in range(3)] + [{"id": "short", "text": "Tea."}]
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = build("build-corpus", tmp_path / "corpus", "--text", table, "--id-column", "id", "--min-characters", 10)
    for name in ("a:1", "text:notes.jsonl:a:1"):
        shown = run("inspect", corpus, "--explain", name).stdout
        assert shown.startswith("text:notes.jsonl:a:1 is in data/") and shown.count("\n") == 1
    assert "text:notes.jsonl:short was dropped" in run("inspect", corpus, "--explain", "short").stdout


def test_explain_of_what_is_not_found_ends_with_2(run: Run, sample_corpus: Path) -> None:
    missing = run("inspect", sample_corpus, "--explain", "Nothing At All", code=2)
    assert "is not in" in missing.stdout and "nothing of this id, title or file name is known" in missing.stderr
    (dump, *_) = [entry["name"] for entry in read_manifest(sample_corpus)["inputs"] if entry["source"] == "wikipedia"]
    assert "was read, but its documents are known by their ids" in run("inspect", sample_corpus, "--explain", dump, code=2).stdout


# --- a tokenizer.json ---


def test_our_own_tokenizer_json_is_a_vocabulary(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    assert read_any(sample_vocab / "tokenizer.json") == read_any(sample_vocab)
    (tmp_path / "tokenizer.json").write_bytes((sample_vocab / "tokenizer.json").read_bytes())
    assert read_any(tmp_path) == read_any(sample_vocab)  # what transformers 5 saves has no vocab.txt
    assert says_accents(tmp_path)
    made = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab / "tokenizer.json")
    other = build("make-pairs", tmp_path / "other", sample_corpus, "--vocab", sample_vocab)
    assert (made / "manifest.json").read_bytes() == (other / "manifest.json").read_bytes()


@pytest.mark.parametrize("kind", [(True, True), (True, False), (False, True), (False, False)])
def test_tokenizer_json_says_case_and_accents(tmp_path: Path, kind: tuple[bool, bool]) -> None:
    made = Vocabulary([*SPECIAL, "a", "##a", "é"], *kind)
    vocab.write(tmp_path, made)
    assert read_any(tmp_path / "tokenizer.json") == made
    assert read_any(tmp_path / "tokenizer.json", *kind) == made
    with pytest.raises(UsageError, match="as tokenizer.json says: omit"):
        read_any(tmp_path / "tokenizer.json", not kind[0])
    with pytest.raises(UsageError, match=r"`strip_accents=(True|False)`: .* as tokenizer.json says: omit"):
        read_any(tmp_path / "tokenizer.json", None, not kind[1])


def test_a_tokenizer_that_transformers_saves_is_read(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    made = Vocabulary([*SPECIAL, "a", "##a", "é"], lowercase=True, strip_accents=False)
    vocab.write(tmp_path, made)
    transformers.BertTokenizerFast.from_pretrained(str(tmp_path)).save_pretrained(str(tmp_path / "saved"))
    assert read_any(tmp_path / "saved") == read_any(tmp_path / "saved" / "tokenizer.json") == made


def changed(path: str, value: Any) -> Any:
    """Return what changes a value of a tokenizer.json, whose keys stand in `path` with dots between them."""

    def change(tokenizer: dict[str, Any]) -> Any:
        *keys, last = path.split(".")
        part = tokenizer
        for key in keys:
            part = part[key]
        part[last] = value
        return tokenizer

    return change


@pytest.mark.parametrize(
    ("change", "is_read"),
    [
        (changed("model.continuing_subword_prefix", "@@"), True),
        (changed("normalizer", {"type": "NFC"}), True),
        (changed("normalizer", None), True),
        (changed("pre_tokenizer", {"type": "Whitespace"}), True),
        (changed("model.vocab.a", 9), True),
        (changed("model.type", "BPE"), False),
        (changed("normalizer.lowercase", "yes"), False),
        (changed("model.vocab", ["a"]), False),
        (changed("model.vocab.a", 1 << 30), False),
        (changed("added_tokens", [{"id": 9, "content": "<s>"}]), False),
        (lambda tokenizer: [], False),
        (lambda tokenizer: {"do_lower_case": True}, False),
    ],
)
def test_a_tokenizer_of_another_kind_keeps_its_ids_or_is_refused(tmp_path: Path, change: Any, is_read: bool) -> None:
    vocab.write(tmp_path, Vocabulary([*SPECIAL, "a", "##a"], lowercase=True, strip_accents=True))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    if is_read:
        known = read_any(path)
        assert known.form and known.tokenizer().encode("a aa").ids == Tokenizer.from_file(str(path)).encode("a aa").ids
        assert known.special.mask == known.pieces.index("[MASK]") and known.special.cls == known.pieces.index("[CLS]")
    else:
        with pytest.raises(UsageError, match=r"tokenizer\.json"):
            read_any(path)


def test_settings_of_another_type_are_refused(tmp_path: Path) -> None:
    vocab.write(tmp_path, Vocabulary([*SPECIAL, "a"], lowercase=True, strip_accents=True))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": "false"}')
    with pytest.raises(UsageError, match=r"tokenizer_config\.json: do_lower_case is 'false': write true or false"):
        read_any(tmp_path)
