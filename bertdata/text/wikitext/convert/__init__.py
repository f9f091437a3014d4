"""Expand {{convert}} and {{cvt}} as MediaWiki does: an amount in its original unit and in others."""
