"""Files, stores, locks, processes and the terminal: what touches the operating system."""
