"""What runs a chain of steps: this process, worker processes here, and jobs of Beam's runners."""
