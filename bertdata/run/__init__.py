"""Run a command: plan it, do the tasks of its stages on this machine or with Beam, and commit the result."""
