"""Data of control problems: what volunteers showed."""
