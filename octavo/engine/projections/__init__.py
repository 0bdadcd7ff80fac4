"""Projections onto convex sets, one module a set."""
