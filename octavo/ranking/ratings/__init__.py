"""Ratings from a stream of games."""
