"""Features of states."""
