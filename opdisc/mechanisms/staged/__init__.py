"""Staged exact draws: a sparse scorecard first, then joint steps along random directions."""
