"""Write datasets in the formats that other trainers read: one file a format, and `FORMATS`, the table of them."""

from .formats import FORMATS

__all__ = ["FORMATS"]
