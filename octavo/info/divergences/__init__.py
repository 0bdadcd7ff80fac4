"""Divergences between two samples, by neighbours, kernels and densities."""
