"""Variational mixed models with a full covariance, and additive models with their own variance."""
