"""Vocabularies: train one, and turn text into its ids."""
