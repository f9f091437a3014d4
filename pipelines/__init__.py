"""The chains of steps that carry tasks and references, done here or by Beam; the work itself is in bertdata.

Only `engines/engine.py`, what it needs, and `dataflow/` import Beam, which takes a second.
"""
