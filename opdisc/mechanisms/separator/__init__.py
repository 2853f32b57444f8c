"""RSPM: noise on a set of rows that separates all hypotheses."""
