"""Build documents from dumps, books and other text: plan the tasks, extract each one, commit their reports."""
