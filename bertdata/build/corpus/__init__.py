"""Dumps, books and other text to documents: plan the tasks, extract each, commit what they report."""
