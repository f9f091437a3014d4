"""Engines: the local runner with its worker processes, and jobs of Beam runners elsewhere."""
