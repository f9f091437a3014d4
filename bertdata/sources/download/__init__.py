"""Fetch what others publish: dumps of Wikipedia, datasets of the Hugging Face Hub."""
