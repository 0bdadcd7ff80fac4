"""Spectral clustering of the points where their density is high."""
