"""Bayesian networks: learning, inference, dynamic networks and tree classifiers."""
