"""Optimal transport between histograms: many small problems with one cost at once."""
