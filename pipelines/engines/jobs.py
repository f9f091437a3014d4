"""Submit jobs to an engine's service: check their options, reserve their outputs, and wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import grpc
from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    TestOptions,
    WorkerOptions,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineState

from bertdata.errors import BertDataError, TransferError, UsageError
from bertdata.storage.files import is_local, to_path
from bertdata.storage.lock import Job, release, reserve

__all__ = ["check_options", "check_service", "check_workers", "is_dry_run", "is_elsewhere", "submit"]

_ANSWER_TIMEOUT_S = 30  # time limit for an answer of a job service
_UBER_JARS = ("flink_submit_uber_jar", "spark_submit_uber_jar")  # with these, the cluster gets the job without a local server


def is_elsewhere(runner: Any, options: PipelineOptions) -> bool:
    """Return True if a runner submits the job to a service, so that it continues when this process ends.

    Dask plans each step in this process. A portable runner without ``--job_endpoint`` starts a local server, and with
    ``LOOPBACK`` local workers.
    """
    if not isinstance(runner, PortableRunner):
        return _is_dataflow(runner)
    portable, options_set = options.view_as(PortableOptions), options.get_all_options(retain_unknown_options=True)
    if portable.environment_type == "LOOPBACK":
        return False
    return portable.job_endpoint not in (None, "", "embed") or any(options_set.get(name) for name in _UBER_JARS)


def is_dry_run(runner: Any, options: PipelineOptions) -> bool:
    """Return True if the job is only created and checked. Raise UsageError if the runner would ignore the option and run it."""
    if str(options.view_as(TestOptions).dry_run).lower() not in ("true", "1"):
        return False
    if not _is_dataflow(runner):
        raise UsageError("only DataflowRunner has --dry_run. Pass bertdata's --dry-run, before --")
    return True


def check_options(runner: Any, options: PipelineOptions) -> None:
    """Raise UsageError if a job names no service, or a Dataflow job no bucket.

    Without a bucket, Beam would create one, and wait for minutes if there is no cloud.
    """
    if type(runner) is PortableRunner and not options.view_as(PortableOptions).job_endpoint:
        raise UsageError("--runner=PortableRunner: pass the address of the job service, --job_endpoint=host:8099")
    if not _is_dataflow(runner):
        return
    cloud, validator = options.view_as(GoogleCloudOptions), PipelineOptionsValidator(options, runner)
    if not (cloud.temp_location or cloud.staging_location):
        raise UsageError("--runner=DataflowRunner: pass a folder for the job's temporary files, --temp_location=gs://…")
    for name in ("temp_location", "staging_location"):
        if getattr(cloud, name) and (wrong := validator.validate_gcs_path(cloud, name)):
            raise UsageError(f"options after --: {wrong[0]}: pass a folder in a bucket, --{name}=gs://…/…")


def check_workers(runner: Any, options: PipelineOptions, paths: Iterable[str | Path]) -> None:
    """Raise UsageError for a Dataflow job whose workers lack bertdata or cannot access these paths.

    Beam's images contain only Beam.
    """
    if not _is_dataflow(runner):
        return
    setup, image = options.view_as(SetupOptions), options.view_as(WorkerOptions).sdk_container_image
    sent = (setup.setup_file, setup.extra_packages, setup.requirements_file, setup.prebuild_sdk_container_engine)
    if not image and not any(sent):
        raise UsageError(
            "--runner=DataflowRunner: its workers have no bertdata: pass an image that contains it, --sdk_container_image=…, or "
            "a wheel to install, --extra_package=bertdata-….whl"
        )
    for path in paths:
        if is_local(to_path(str(path))):
            raise UsageError(
                f"{path}: Dataflow workers cannot read this machine's files. Copy the input to a bucket, and pass gs://… for the "
                "input and `output`"
            )


def check_service(runner: Any, options: PipelineOptions) -> None:
    """Raise TransferError if a job service does not answer in 30 seconds, or in ``--job_server_timeout`` seconds.

    Beam would apply ``--job_server_timeout`` to the complete job as well and lose track of a longer job, so it is removed here.
    """
    portable, options_set = options.view_as(PortableOptions), options.get_all_options(drop_default=True)
    if not isinstance(runner, PortableRunner) or portable.job_endpoint in (None, "", "embed"):
        return
    seconds = options_set.get("job_server_timeout", _ANSWER_TIMEOUT_S)
    with grpc.insecure_channel(portable.job_endpoint) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=seconds)
        except grpc.FutureTimeoutError as error:
            raise TransferError(
                f"{type(runner).__name__} at {portable.job_endpoint} cannot be reached: no answer in {seconds} s. Start the job "
                "service, or correct --job_endpoint after --"
            ) from error
    portable.job_server_timeout = None


def _is_dataflow(runner: Any) -> bool:
    return type(runner).__name__ == "DataflowRunner"  # its module exists only where apache-beam[gcp] is installed


def submit(
    start: Callable[[], Any],
    runner: Any,
    options: PipelineOptions,
    states: Sequence[Path],
    wait: bool,
) -> None:
    """Submit a job to its service by calling `start`. With `wait`, wait for its end.

    The outputs with these `states` are reserved before the job can start, and released when it ends. They stay reserved if this
    process loses track of the job.
    """
    if is_dry_run(runner, options):
        start()
        return
    # Reserve before submitting: between submission and reservation another command could start. The
    # id of the job is known only afterwards, so the record is written twice.
    _reserve(states, _describe(runner, options, None))
    try:
        result = start()
    except Exception:
        _release(states)
        raise
    job = _describe(runner, options, result)
    _reserve(states, job)
    if wait:
        try:
            state = result.wait_until_finish()
        except Exception:
            if _has_ended(result):
                _release(states)
            raise
        _release(states)
        if state != PipelineState.DONE:
            raise BertDataError(f"{job} ended as {state}: find the cause in its log, then run the same command again")


def _reserve(states: Sequence[Path], job: Job) -> None:
    for state in states:
        reserve(state, job)


def _release(states: Sequence[Path]) -> None:
    for state in states:
        release(state)


def _describe(runner: Any, options: PipelineOptions, result: Any) -> Job:
    """Return the record of a job. Its id is known only after submission."""
    name = type(runner).__name__
    if not _is_dataflow(runner):
        endpoint = options.view_as(PortableOptions).job_endpoint
        return Job(getattr(result, "_job_id", ""), name, endpoint or "on its cluster")
    cloud = options.view_as(GoogleCloudOptions)
    id = result.job_id() if result is not None and result.has_job else ""  # a template's launcher submits the job
    page = f"https://console.cloud.google.com/dataflow/jobs/{cloud.region}/{id}".rstrip("/")
    return Job(id or cloud.job_name or "", name, f"{page}?project={cloud.project}")


def _has_ended(result: Any) -> bool:
    """Return True if a job has ended in any way, or False if its service does not answer."""
    try:
        return bool(PipelineState.is_terminal(result.state))
    except Exception:  # any exception of a service's client
        return False
