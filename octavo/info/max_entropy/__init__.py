"""Distributions of largest entropy under linear constraints, and margins of tables."""
