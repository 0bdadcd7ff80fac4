"""Minimax probability machines: the best worst case over all classes with given moments."""
