"""What clouds ask for requests, workers and shuffled bytes, by which benchmarks say what a run costs.

List prices in dollars without discounts, of us-central1 and us-east-1, as they were in 2025; look them up before you count on
them: https://cloud.google.com/dataflow/pricing, https://cloud.google.com/storage/pricing, https://aws.amazon.com/s3/pricing.
Those of requests are the same for S3 Standard and for Google's standard storage.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REQUESTS", "SHUFFLED", "WORKER", "of_requests"]

REQUESTS = {  # for a million
    **dict.fromkeys(("GET", "RANGE", "AHEAD", "HEAD"), 0.40),
    **dict.fromkeys(("LIST", "PUT", "COPY", "POST"), 5.00),
    "DELETE": 0.0,
}
WORKER = 0.056 + 3.75 * 0.003557  # an hour of a batch worker of Dataflow: a vCPU, and the 3.75 GB of memory of n1-standard-1
SHUFFLED = 0.011  # a GB that goes through Dataflow Shuffle


def of_requests(counts: Mapping[str, float]) -> float:
    """Return the price of so many requests of each kind.

    >>> of_requests({"RANGE": 1_000_000, "PUT": 1000})
    0.405
    """
    return sum(REQUESTS[kind] * count for kind, count in counts.items()) / 1e6
