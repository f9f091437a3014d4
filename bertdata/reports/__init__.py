"""Describe the contents of a dataset as text, pictures and pages."""
