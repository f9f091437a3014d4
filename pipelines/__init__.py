"""Beam pipelines for a cluster, which engine.py runs, and transforms for your own. Installed as `bertdata.pipelines`."""
