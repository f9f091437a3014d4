"""Choose which documents of a corpus stay: one of those with the same text or nearly the same, shares of sources, samples."""
