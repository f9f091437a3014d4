"""The text of {{convert}} and {{cvt}}: an amount in the unit that was given and in others, as MediaWiki words it."""

from .text import convert

__all__ = ["convert"]
