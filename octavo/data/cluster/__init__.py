"""Generators of graphs with clusters."""
