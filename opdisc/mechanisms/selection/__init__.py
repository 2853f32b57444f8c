"""Private selection: the best of several private fits, paid for by a random number of trials."""
