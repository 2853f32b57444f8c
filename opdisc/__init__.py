"""Publishable integer scorecards from small sensitive tables."""

__version__ = "0.1.0.dev0"
