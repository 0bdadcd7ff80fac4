"""Conjugate blocks: update, predictive, expected log density, divergence."""
