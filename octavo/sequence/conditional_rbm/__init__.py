"""Conditional restricted Boltzmann machines for vector time series."""
