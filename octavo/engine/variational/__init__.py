"""Variational posteriors: the Gaussian step, expected likelihood terms, variance components."""
