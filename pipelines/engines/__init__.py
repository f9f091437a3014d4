"""Run a chain of steps as a job of a Beam runner. `bertdata.chains` defines the chains and runs them locally."""
