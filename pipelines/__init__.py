"""Beam pipelines: the chains of steps that carry tasks and references; the work itself is in bertdata.

What plans a run does not import Beam, which takes a second: worker processes import it at the same time as the driver does.
"""

import pyarrow

pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # Arrow's default keeps some 15 MB of what it has freed
