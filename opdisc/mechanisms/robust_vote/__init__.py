"""Robust vote: a guarantee that does not rest on the learner or on its oracle."""
