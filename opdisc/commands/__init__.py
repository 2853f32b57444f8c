"""Commands of the command line, one module each; heavy imports only when they run."""
