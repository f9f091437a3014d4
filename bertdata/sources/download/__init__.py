"""Download Wikipedia dumps and datasets of the Hugging Face Hub."""
