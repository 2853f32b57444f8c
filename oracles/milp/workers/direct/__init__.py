"""The workers' ends of solvers that are called through their own Python interfaces."""
