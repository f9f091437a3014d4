"""Choose the documents of a corpus to keep: remove duplicates and near-duplicates, balance sources, and draw samples."""
