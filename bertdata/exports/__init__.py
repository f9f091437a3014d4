"""Write datasets in the formats of other trainers: one file per format, listed in the table `FORMATS`."""

from .formats import FORMATS

__all__ = ["FORMATS"]
