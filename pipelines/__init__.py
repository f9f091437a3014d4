"""Beam pipelines: the chains of steps that carry tasks and references; the work itself is in bertdata."""
