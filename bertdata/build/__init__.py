"""What each command does, as plain functions: plan the tasks, do one, commit what all have reported."""
