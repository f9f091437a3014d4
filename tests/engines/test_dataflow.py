"""Dataflow, as far as one gets without it: jobs are made, checked, submitted to a server on loopback, and carried out."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import flex_metadata
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from bertdata.chains.build_corpus import BuildCorpus
from bertdata.pipelines.engines.on_beam import on_beam
from conftest import REPOSITORY, SAMPLE, Run, digests

from bertdata.config import CorpusConfig
from bertdata.dataset.manifest_records import Input
from bertdata.records import FileRange, Task
from bertdata.stages.corpus.plan_tasks import CorpusPlan

pytest.importorskip("google.cloud.dataflow", reason="Beam's client of Dataflow is not installed")
cloud = pytest.importorskip("cloud", reason="apache-beam[gcp] is not installed")
pytest.importorskip("gcp_storage_emulator", reason="gcp-storage-emulator is not installed")
pytest.importorskip("gcsfs", reason="gcsfs is not installed")

pytestmark = pytest.mark.nightly  # what it needs is installed by `make long` alone
LAUNCH = REPOSITORY / "pipelines" / "dataflow" / "launch.py"
BEAM = ("--project=my-project", "--region=europe-west4", "--temp_location=gs://bucket/temp", "--no_auth")


def launch(*arguments: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start the template as its launcher does."""
    words = [sys.executable, str(LAUNCH), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300, check=False)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.mark.parametrize("name", flex_metadata.COMMANDS)
def test_the_template_asks_for_the_options_of_the_command(name: str) -> None:
    """`python tests/engines/flex_metadata.py` writes what it asks for anew."""
    from google.cloud.dataflow_v1beta3.types import TemplateMetadata

    written = (flex_metadata.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert written == flex_metadata.text(name)
    read = TemplateMetadata.from_json(written)  # refuses a key that Dataflow does not know
    names = [parameter.name for parameter in read.parameters]
    assert len(names) == len(set(names))
    assert not set(names) & set(PipelineOptions([]).get_all_options()), "a parameter of the template would never reach Beam"
    assert all(parameter.help_text and parameter.label for parameter in read.parameters)
    command = importlib.import_module(f"bertdata.cli.{name.replace('-', '_')}").command
    accepted = {spelling for param in command.params for spelling in (*param.opts, *param.secondary_opts)}
    assert {f"--{each.replace('_', '-')}" for each in names if each not in ("command", "corpus")} <= accepted - {"--help-all"}
    required = {parameter.name for parameter in read.parameters if not parameter.is_optional}
    assert required == {"command", "output"} | {"make-pairs": {"corpus", "vocab"}, "train-vocab": {"corpus"}}.get(name, set())


def test_parameters_become_a_command_line() -> None:
    spec = importlib.util.spec_from_file_location("launch", LAUNCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = ["--command=make-pairs", "--corpus=gs://b/c", "--vocab=gs://b/v", "--output=gs://b/p", "--max_seq_length=128;512"]
    given += [
        "--cased=true",
        "--provenance=false",
        "--objective=",
        "--runner=DataflowRunner",
        "--save_main_session",
        "--labels=a=b",
    ]
    words = ["make-pairs", "gs://b/c", "--vocab", "gs://b/v", "--output", "gs://b/p"]
    words += ["--max-seq-length", "128", "--max-seq-length", "512", "--cased", "--no-wait", "--"]
    ours = ["--runner=DataflowRunner", "--save_main_session", "--labels=a=b"]
    assert module.command_line(given) == words + ours
    assert module.command_line(given, "image:1") == [*words, *ours, "--sdk_container_image=image:1"]
    assert module.command_line([*given, "--sdk_container_image=own"], "image:1")[-1] == "--sdk_container_image=own"
    given = ["--command=build-corpus", "--read=own:read gs://b/a b.txt;own:other gs://b/c.txt", "--output=gs://b/o"]
    read = ["--read", "own:read", "gs://b/a b.txt", "--read", "own:other", "gs://b/c.txt"]
    assert module.command_line(given)[1:7] == read
    with pytest.raises(SystemExit, match="no command 'train'. Set the parameter"):
        module.command_line(["--command=train"])


@pytest.mark.parametrize("name", flex_metadata.COMMANDS)
def test_a_dry_run_makes_and_checks_the_job(name: str, google: Any, sample_corpus: Path, sample_vocab: Path) -> None:
    for path in sample_corpus.rglob("*"):
        if path.is_file():
            google.put(f"corpus/{path.relative_to(sample_corpus).as_posix()}", path.read_bytes())
    corpus = f"--corpus=gs://{cloud.BUCKET}/corpus"
    source = {"build-corpus": (f"--books=gs://{cloud.BUCKET}/in/books",), "train-vocab": (corpus,)}
    source["make-pairs"] = (corpus, f"--vocab={sample_vocab}", "--max_seq_length=64;128")
    arguments = [f"--command={name}", *source[name], f"--output=gs://{cloud.BUCKET}/dry", *google.options]
    submitted = len(google.jobs)
    assert "nothing was run or written" in launch(*arguments, "--dry_run=True", **google.environment).stdout
    assert google.keys("dry/") == [] and len(google.jobs) == submitted


def test_a_dry_run_over_a_complete_corpus_is_no_result(google: Any, sample_corpus: Path) -> None:
    for path in sample_corpus.rglob("*"):
        if path.is_file():
            google.put(f"complete/{path.relative_to(sample_corpus).as_posix()}", path.read_bytes())
    arguments = [f"--books=gs://{cloud.BUCKET}/in/books", f"--output=gs://{cloud.BUCKET}/complete", "--overwrite=true"]
    said = launch("--command=build-corpus", *arguments, *google.options, "--dry_run=True", **google.environment).stdout
    assert "nothing was run or written" in said and "is complete" not in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((*BEAM[:2], "--no_auth"), "--temp_location=gs://"),
        (
            (*BEAM[:2], "--temp_location=/tmp/x", "--dry_run=True"),
            "Invalid GCS path (/tmp/x), given for the option: temp_location",
        ),
        ((*BEAM, "--staging_location=s3://bucket/x"), "given for the option: staging_location"),
        (BEAM, "its workers have no bertdata"),
        ((*BEAM, "--dry_run=True"), "its workers have no bertdata"),
        ((*BEAM, "--dry_run=True", "--sdk_container_image=own"), "Dataflow workers cannot read this machine's files"),
        ((*BEAM, "--sdk_container_image=own"), "Copy the input to a bucket, and pass gs://… for the input and --output"),
    ],
)
def test_a_job_that_cannot_be_right_is_refused(run: Run, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    words = ("build-corpus", "--books", SAMPLE / "books", "--output", tmp_path / "out", "--", "--runner=DataflowRunner", *options)
    assert says in run(*words, code=2).stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--exclude", "--exclude-ids", "--depends-on"])
def test_a_local_file_of_an_option_is_refused(run: Run, google: Any, tmp_path: Path, option: str) -> None:
    (local := tmp_path / "mine.txt").write_text("enwiki:1\n")
    places = ("--books", f"gs://{cloud.BUCKET}/in/books", "--output", f"gs://{cloud.BUCKET}/refused", option, local)
    done = run("build-corpus", *places, "--", *google.options, "--dry_run=True", code=2, **google.environment)
    assert f"{local}: Dataflow workers cannot read this machine's files" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("project", "says"), [((), "Missing required option: project."), (("--project=My Project",), "Invalid Project ID")]
)
def test_a_project_that_cannot_be_right_is_refused(run: Run, google: Any, project: tuple[str, ...], says: str) -> None:
    places = ("--books", f"gs://{cloud.BUCKET}/in/books", "--output", f"gs://{cloud.BUCKET}/refused")
    options = [*project, *BEAM[1:], f"--sdk_container_image={cloud.IMAGE}", "--dry_run=True"]
    done = run("build-corpus", *places, "--", "--runner=DataflowRunner", *options, code=2, **google.environment)
    assert says in done.stderr.splitlines()[-1] and google.keys("refused/") == []


def test_a_job_is_small_whatever_its_input() -> None:
    """Dataflow takes a graph of 10 MB: a dump of 20,000 tasks, 320 GB as bertdata cuts them, is a hundredth of it."""
    files = [f"enwiki-20261101-pages-articles-multistream{n % 27}.xml-p{n * 41242}p{n * 41242 + 41241}.bz2" for n in range(2500)]
    tasks, inputs = [], []
    for number in range(20_000):
        name, start = files[number // 8], number % 8 * 16_777_216 + number * 7919 % 65_536
        tasks.append(Task(number, "wikipedia", (FileRange(name, f"gs://dumps/enwiki/{name}", start, start + 16_777_216),)))
    for name in files:
        checksum = f"sha1:{hashlib.sha1(name.encode()).hexdigest()}"
        inputs.append(Input(name=name, source="wikipedia", bytes=134_217_728, licence="CC BY-SA", checksum=checksum))
    pipeline = beam.Pipeline()
    _ = pipeline | on_beam(BuildCorpus(CorpusPlan(tasks, inputs), CorpusConfig(), Path("/out")))
    assert len(pipeline.to_runner_api().SerializeToString()) < 100_000


@pytest.fixture(scope="module")
def google() -> Iterator[Any]:
    with cloud.cloud() as found:
        for path in SAMPLE.rglob("*"):
            if path.suffix in (".bz2", ".txt"):
                found.put(f"in/{path.relative_to(SAMPLE).as_posix()}", path.read_bytes())
        yield found


def in_the_bucket(google: Any, prefix: str) -> dict[str, str]:
    keys = [key for key in google.keys(prefix) if "/.bertdata/" not in key]
    return {key[len(prefix) :]: hashlib.sha256(google.get(key)).hexdigest() for key in keys}


def test_the_template_runs_all_three_in_the_cloud(
    run: Run, google: Any, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    """Each is submitted, and carried out from what is staged, without its command: with the bytes of a local run."""
    out, environment = f"gs://{cloud.BUCKET}/out", google.environment
    lengths = ("--max-seq-length", 64, "--max-seq-length", 128, "--shards", 3)
    run("make-pairs", sample_corpus, "--vocab", sample_vocab, *lengths, "--output", tmp_path / "pairs-{length}", "--workers", 1)
    sources = (f"--wikipedia=gs://{cloud.BUCKET}/in/*multistream.xml.bz2", f"--books=gs://{cloud.BUCKET}/in/books")
    corpus, vocab = f"--corpus={out}/corpus", f"--vocab={out}/vocab"
    commands: dict[str, tuple[tuple[str, ...], dict[str, Path]]] = {
        "build-corpus": ((*sources, f"--output={out}/corpus"), {"corpus": sample_corpus}),
        "train-vocab": ((corpus, "--size=4000", f"--output={out}/vocab"), {"vocab": sample_vocab}),
        "make-pairs": (
            (corpus, vocab, "--max_seq_length=64;128", "--shards=3", f"--output={out}/pairs-{{length}}"),
            {f"pairs-{length}": tmp_path / f"pairs-{length}" for length in (64, 128)},
        ),
    }
    for number, (name, (arguments, expected)) in enumerate(commands.items(), 1):
        said = launch(f"--command={name}", *arguments, *google.options, **environment).stdout
        page = f"https://console.cloud.google.com/dataflow/jobs/europe-west4/2026-11-22_{number}?project=my-project"
        for output in expected:
            assert f"{out}/{output}: job 2026-11-22_{number} of DataflowRunner ({page}) writes it" in said
            assert "is being written by job" in run("inspect", f"{out}/{output}", code=2, **environment).stderr
        pools = google.jobs[-1]["environment"]["workerPools"]
        assert [image["containerImage"] for pool in pools for image in pool["sdkHarnessContainerImages"]] == [cloud.IMAGE]
        steps = [step.unique_name for step in google.pipeline().components.transforms.values()]
        assert any(step.endswith("/Commit") for step in steps) and not any("Reshuffle/" in step for step in steps)
        assert google.carry_out(tmp_path) == "DONE"
        for output, here in expected.items():
            assert in_the_bucket(google, f"out/{output}/") == digests(here)
            state = f"out/{output}/.bertdata/run"
            assert google.keys(f"out/{output}/.bertdata/") == [f"{state}.json", f"{state}.sha256"]
    assert "61 documents" in run("inspect", f"{out}/corpus", "--n", 0, **environment).stdout


def test_who_waits_hears_how_a_job_ended(run: Run, google: Any) -> None:
    """A job that was cancelled leaves an unfinished run, which is nobody's any more."""
    output = f"gs://{cloud.BUCKET}/cancelled"
    words = ("build-corpus", "--books", f"gs://{cloud.BUCKET}/in/books", "--output", output)
    google.state = "JOB_STATE_CANCELLED"
    try:
        said = run(*words, "--", *google.options, code=1, **google.environment).stderr
    finally:
        google.state = "JOB_STATE_RUNNING"
    assert "ended as CANCELLED" in said.splitlines()[-1] and "run the same command again" in said.splitlines()[-1]
    assert "did not finish" in run("inspect", output, code=2, **google.environment).stderr
    run(*words, "--workers", 1, **google.environment)
    assert "3 documents" in run("inspect", output, "--n", 0, **google.environment).stdout
