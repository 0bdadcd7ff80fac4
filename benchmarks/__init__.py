"""octavo beside its peers: the same problem, the same tolerance, one run."""
