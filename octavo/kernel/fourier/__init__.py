"""Fourier features that are chosen for the data, and the bounds of random ones."""
