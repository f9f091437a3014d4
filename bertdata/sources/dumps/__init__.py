"""MediaWiki dumps become pages: whole or in pieces, whatever is broken in them."""

from .header import Site, read_site
from .read import LOSSES, how_cut, read_pages, split

__all__ = ["LOSSES", "Site", "how_cut", "read_pages", "read_site", "split"]
