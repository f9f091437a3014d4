"""Run a chain of steps: in this process, in local worker processes, or as a job of a Beam runner."""
