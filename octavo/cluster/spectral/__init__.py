"""Spectral clustering."""
