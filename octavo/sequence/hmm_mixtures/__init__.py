"""Clusters and mixtures of hidden Markov models."""
