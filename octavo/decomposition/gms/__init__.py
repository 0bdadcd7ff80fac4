"""Robust subspaces: the geometric median subspace and its relatives."""
