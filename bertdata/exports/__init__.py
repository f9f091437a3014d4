"""Write datasets in the formats of other trainers: one file per format, listed in the table `FORMATS`."""

from . import hdf5, lddl, mds, megatron, plain_text, tfrecord
from .base import Format

__all__ = ["FORMATS"]

FORMATS: dict[str, Format] = {  # by the values of `--to`
    "jsonl": plain_text.JSON_LINES,
    "parquet": plain_text.PARQUET,
    "mds": mds.MDS,
    "megatron": megatron.MEGATRON,
    "hdf5": hdf5.HDF5,
    "tfrecord": tfrecord.TFRECORD,
    "lddl": lddl.LDDL,
}
