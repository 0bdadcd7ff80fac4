"""Contrastive divergence for Gaussian and binary units, and what a partition function is worth."""
