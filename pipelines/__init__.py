"""Beam pipelines: build-corpus, train-vocab and make-pairs on a cluster, and transforms for your own pipelines.

This folder is installed as `bertdata.pipelines`. `engine.py` runs a pipeline; the others describe one each.
"""
