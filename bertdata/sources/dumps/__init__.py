"""Read the pages of MediaWiki dumps, in full or by range, and continue after damage."""

from .dates import as_of, dump_date
from .header import Site, read_site
from .read import LOSSES, how_cut, read_pages, split

__all__ = ["LOSSES", "Site", "as_of", "dump_date", "how_cut", "read_pages", "read_site", "split"]
