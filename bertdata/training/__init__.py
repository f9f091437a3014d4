"""Train on rows: the order of rows, the data loader, and the trainer."""
