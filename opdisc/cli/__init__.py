"""The command line: one module a command; heavy imports only when a command runs."""
