"""Gaussian processes on a kernel matrix: posteriors that grow, and what to evaluate next."""
