"""Exact minimisation of weighted 0/1 loss over finite grids of integer weights."""
