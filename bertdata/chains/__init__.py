"""Define the chain of steps of each command, and run it locally. `pipelines/` runs the same chains with Beam."""
