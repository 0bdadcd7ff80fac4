"""Image registration by information, and the search that it needs."""
