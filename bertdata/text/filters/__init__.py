"""Which documents are left out: those that break a bound of `--min-…` and `--max-…`, and those that an evaluation set holds."""

from .boilerplate import is_boilerplate
from .bounds import FILTERS, Filter, check
from .overlap import Grams, read_examples

__all__ = ["FILTERS", "Filter", "Grams", "check", "is_boilerplate", "read_examples"]
