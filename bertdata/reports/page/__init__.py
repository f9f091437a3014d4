"""The report of a dataset as one HTML page, made of its manifest and of a bounded read of its shards."""

from ...dataset.build import REPORT
from .dataset_page import report as write_report
from .dataset_page import write_beside

__all__ = ["REPORT", "write_beside", "write_report"]
