"""Expand {{convert}} and {{cvt}} as MediaWiki does: an amount in its original unit and in others."""

from .measurement import convert

__all__ = ["convert"]
