"""Grouped multiple kernel learning: sparse within groups of kernels, any norm across them."""
