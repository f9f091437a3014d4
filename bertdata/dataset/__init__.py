"""A dataset on disk: a run builds it, a manifest describes it, and its rows are read.

The state of a run is in ``.bertdata/`` of its output (build.py, tasks.py). A kill leaves the old dataset, none or the new one,
and the same command continues (build.py). `Shards` reads rows by their number (rows.py).

build.py        lock an output, begin or continue a run in .bertdata/build-…, commit it: what happens at a kill
tasks.py        records of finished tasks, so that the same command continues
differences.py  what differs between two runs
versions.py     the versions that decide bytes
manifest.py     write, read and check manifest.json, whose types are in manifest_types.py and manifest_records.py
shards.py       Arrow files of documents and rows
rows.py         `Shards`: rows by their number, mapped into memory
fetch.py        copy a dataset of a store to the local disk
data_set.py     `DataSet`: a finished dataset, with its path and its counts
"""
