"""The ledger: a file that records every epsilon spent on a table, before anything is released."""
