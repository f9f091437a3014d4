"""Fetch what others publish: dumps of Wikipedia, data sets of the Hugging Face Hub."""
