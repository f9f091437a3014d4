"""Make rows of documents: move documents to their buckets, build each bucket's rows, mask them where masks are static."""
