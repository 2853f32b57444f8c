"""Comparison of oracles: tasks, timed runs, the table of results."""
