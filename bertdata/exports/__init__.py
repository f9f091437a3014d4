"""Write datasets in the formats of other trainers: one module per format, listed in the table `FORMATS`."""

from . import mds, megatron, plain_text, tfrecord
from .base import Format

FORMATS: dict[str, Format] = {  # by the values of `--to`
    "jsonl": plain_text.JSON_LINES,
    "parquet": plain_text.PARQUET,
    "mds": mds.MDS,
    "megatron": megatron.MEGATRON,
    "tfrecord": tfrecord.TFRECORD,
}
