"""OPSamp: the average of minimisers under random tilts, for losses of real parameters."""
