"""Mixtures with a given overlap, and the referee that compares clusterers on them."""
