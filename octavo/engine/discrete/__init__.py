"""Bit sets, contingency tables, min-wise hashes, draws, blocks of graphs."""
