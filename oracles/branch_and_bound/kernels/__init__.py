"""Compiled loops of the exact search: bounds, branching, children, completion."""
