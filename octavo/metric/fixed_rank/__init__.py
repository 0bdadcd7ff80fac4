"""Positive semidefinite matrices of fixed rank, learned from pairs."""
