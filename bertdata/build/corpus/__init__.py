"""Make documents of dumps, books and other text: plan the tasks, extract each, commit what they report."""
