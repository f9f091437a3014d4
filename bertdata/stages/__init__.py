"""The work behind each command as plain functions: plan the tasks, run one task, commit the reports of all tasks."""
