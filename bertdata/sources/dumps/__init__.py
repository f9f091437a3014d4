"""Read the pages of MediaWiki dumps, in full or by range, and continue after damage."""

from .header import Site, read_site
from .page_age import as_of, dump_date
from .read import LOSSES, how_cut, read_pages, split

__all__ = ["LOSSES", "Site", "as_of", "dump_date", "how_cut", "read_pages", "read_site", "split"]
