"""Run `bertdata train` with one process per GPU: `torchrun --nproc-per-node 8 -m bertdata.training.trainer run.toml`."""

import sys

from ...__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "train")
    main()
