"""Mechanisms for any table of losses and for a minimiser that the user brings."""
