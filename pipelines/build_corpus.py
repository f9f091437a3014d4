"""Build a corpus on an engine: ``python -m bertdata.pipelines.build_corpus … --runner=…``.

Its steps are in `bertdata.chains.build_corpus`.
"""

from . import command

if __name__ == "__main__":
    command.run("build-corpus")
