"""The report of a comparison: one HTML page, figures and a table of means.

Importing this package is cheap; drawing libraries load when a report is written.
"""
