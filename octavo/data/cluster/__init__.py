"""Generators from the papers."""
