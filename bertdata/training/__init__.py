"""Rows to batches to a trained model: the order of rows, the loader, and the trainer."""
