"""Beam pipelines: the chains of steps that carry tasks and references; the work itself is in bertdata."""

import gc

_collecting = gc.isenabled()
gc.disable()
try:
    import apache_beam  # noqa: F401
    import pyarrow

    gc.freeze()  # Beam's million objects stay: looking for garbage among them takes .3 s at the start and .5 s at the end
finally:
    if _collecting:
        gc.enable()
pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # Arrow's default keeps some 15 MB of what it has freed
