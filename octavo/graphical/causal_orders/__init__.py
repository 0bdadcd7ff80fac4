"""Sparse linear identifiable multivariate models: factor models, causal orders and DAGs."""
