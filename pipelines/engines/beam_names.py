"""List the names inside Beam that the local runner's worker processes use, and check that this Beam has them.

Beam documents none of them, so a new minor version may drop any: pyproject.toml admits only versions that were tested, and with
another one a local run takes one process, which needs none of these names.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import apache_beam

__all__ = ["NAMES", "check", "missing"]

_RUNNER = "apache_beam.runners.portability.fn_api_runner"
_WORKER = "apache_beam.runners.worker"

# "module:Class.name(parameters)"; `Class().name` is an attribute that the constructor sets, parameters follow `self`.
NAMES = (
    # The runner: which bundle manager runs a stage, and which manager its workers have.
    f"{_RUNNER}:FnApiRunner(default_environment)",
    f"{_RUNNER}:FnApiRunner.run_stages",
    f"{_RUNNER}:FnApiRunner._get_bundle_manager(bundle_context_manager)",
    f"{_RUNNER}.fn_runner:BundleManager(bundle_context_manager)",
    f"{_RUNNER}.fn_runner:BundleManager.process_bundle(inputs, expected_outputs, fired_timers, expected_output_timers, dry_run)",
    f"{_RUNNER}.fn_runner:BundleManager().bundle_context_manager",
    f"{_RUNNER}.fn_runner:WorkerHandlerManager(environments, job_provision_info)",
    f"{_RUNNER}.execution:BundleContextManager.worker_handlers",
    f"{_RUNNER}.execution:BundleContextManager.process_bundle_descriptor",
    f"{_RUNNER}.execution:BundleContextManager().num_workers",
    f"{_RUNNER}.execution:BundleContextManager()._worker_handlers",
    "apache_beam.metrics.monitoring_infos:consolidate",
    # The runner's side of a worker process, and the server that the processes talk to.
    f"{_RUNNER}.worker_handlers:WorkerHandlerManager.get_worker_handlers(environment_id, num_workers)",
    f"{_RUNNER}.worker_handlers:WorkerHandlerManager().state_servicer",
    f"{_RUNNER}.worker_handlers:WorkerHandlerManager()._grpc_server",
    f"{_RUNNER}.worker_handlers:WorkerHandler.register_environment(urn, payload_type)",
    f"{_RUNNER}.worker_handlers:WorkerHandler().worker_id",
    f"{_RUNNER}.worker_handlers:WorkerHandler().provision_info",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler(state, provision_info, grpc_server)",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.port_from_worker(port)",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.control_api_service_descriptor",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.logging_api_service_descriptor",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.start_worker",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.stop_worker",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler.close",
    f"{_RUNNER}.worker_handlers:GrpcWorkerHandler().control_conn",
    f"{_RUNNER}.worker_handlers:ControlConnection()",
    f"{_RUNNER}.worker_handlers:ControlConnection.push(req)",
    f"{_RUNNER}.worker_handlers:ControlConnection()._futures_by_id",
    f"{_RUNNER}.worker_handlers:ControlFuture.is_done",
    f"{_RUNNER}.worker_handlers:ControlFuture.set(response)",
    f"{_RUNNER}.worker_handlers:BeamFnControlServicer(worker_manager)",
    f"{_RUNNER}.worker_handlers:BeamFnControlServicer.get_conn_by_worker_id(worker_id)",
    f"{_RUNNER}.worker_handlers:BeamFnControlServicer.Control(iterator, context)",
    f"{_RUNNER}.worker_handlers:BeamFnControlServicer.done",
    f"{_RUNNER}.worker_handlers:BasicLoggingService()",
    f"{_RUNNER}.worker_handlers:GrpcStateServicer(state)",
    f"{_WORKER}.data_plane:BeamFnDataServicer()",
    f"{_WORKER}.data_plane:BeamFnDataServicer.Data(elements_iterator, context)",
    "apache_beam.utils.thread_pool_executor:shared_unbounded_instance()",
    "apache_beam.portability.api:beam_fn_api_pb2",
    "apache_beam.portability.api:beam_fn_api_pb2_grpc",
    "apache_beam.transforms.environments:Environment.register_urn(urn, parameter_type)",
    "apache_beam.transforms.environments:Environment(capabilities, artifacts, resource_hints)",
    # In a worker process.
    f"{_WORKER}.sdk_worker_main:main(unused_argv)",
    f"{_WORKER}.statesampler:StateSampler(prefix, counter_factory, sampling_period_ms)",
)


def check() -> None:
    """Raise ImportError where this Beam lacks a name."""
    if absent := missing():
        raise ImportError(f"apache-beam {apache_beam.__version__} lacks {absent[0].partition(':')[2]}")


def missing() -> list[str]:
    """List the names that this Beam lacks, or that take other parameters."""
    return [name for name in NAMES if not _is_there(name)]


def _is_there(name: str) -> bool:
    module, _, path = name.partition(":")
    owner, is_assigned, attribute = path.partition("().")
    dotted, has_parameters, parameters = owner.partition("(")
    try:
        named: Any = importlib.import_module(module)
        for part in dotted.split("."):
            named = getattr(named, part)
        if is_assigned:
            return attribute in named.__init__.__code__.co_names
        return not has_parameters or _takes(named, parameters.rstrip(")"))
    except (ImportError, AttributeError, ValueError):  # ValueError: a function of C whose parameters are not known
        return False


def _takes(function: Any, parameters: str) -> bool:
    """Tell whether a function or class takes these parameters first, in this order, and needs no others."""
    wanted = [name for name in parameters.split(", ") if name]
    known = [each for each in inspect.signature(function).parameters.values() if each.name not in ("self", "cls")]
    needed = [each for each in known[len(wanted) :] if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    return [each.name for each in known[: len(wanted)]] == wanted and not needed
