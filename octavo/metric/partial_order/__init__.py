"""Similarity spaces from comparisons of pairs: partial order embedding."""
