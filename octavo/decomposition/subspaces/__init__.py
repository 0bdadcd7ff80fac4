"""Independent subspace analysis and its relatives for processes."""
