"""Sums and maxima over paths of a chain, with or without segments."""
