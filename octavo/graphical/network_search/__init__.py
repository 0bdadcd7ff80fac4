"""Exact and anytime searches for the best Bayesian network."""
