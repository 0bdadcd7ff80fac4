"""Latent Gaussian models: sparse priors, Laplace and EP, corrected marginals, ready models."""
