"""Orders and arcs: distances of rankings, feedback arc sets."""
