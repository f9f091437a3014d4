"""The commands as functions: plan a run, and carry it out here or on an engine."""
