"""Make training rows on an engine: ``python -m bertdata.pipelines.make_pairs … --runner=…``.

Its steps are in `bertdata.chains.make_pairs`.
"""

from . import command

if __name__ == "__main__":
    command.run("make-pairs")
