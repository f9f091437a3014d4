"""Define the pipelines: chains of steps that pass tasks and references, run locally or by Beam. The work itself is in bertdata.

Only `engines/engine.py`, its imports and `dataflow/` import Beam, which takes a second.
"""
