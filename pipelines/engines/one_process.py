"""Run a chain of steps in this process alone, without Beam: what one local worker does."""

from __future__ import annotations

import logging

from bertdata.errors import BertDataError

from ..steps import Step
from ..transforms import Chain

__all__ = ["run"]


def run(chain: Step) -> None:
    """Run a chain of steps to its end; raise the BertDataError that a step raises, and BertDataError for any other exception."""
    if isinstance(chain, Chain):
        chain.write_plan()
    try:
        for _ in chain.here(()):
            pass
    except BertDataError:
        raise
    except Exception as error:
        logging.getLogger(__name__).exception("a step failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error
