"""Scores of parent sets of Bayesian networks, and the constraints on them."""
