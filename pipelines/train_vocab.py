"""Train a vocabulary on an engine: ``python -m bertdata.pipelines.train_vocab … --runner=…``.

Its steps are in `bertdata.chains.train_vocab`.
"""

from . import command

if __name__ == "__main__":
    command.run("train-vocab")
