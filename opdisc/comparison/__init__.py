"""Comparison of private and non-private classifiers on one table: plan, runs, results."""
