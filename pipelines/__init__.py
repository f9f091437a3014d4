"""Beam pipelines: build-corpus, train-vocab, make-pairs and export on a cluster, and transforms for your own pipelines.

This folder is installed as `bertdata.pipelines`. `engine.py` runs a pipeline; the others describe one each.
"""
