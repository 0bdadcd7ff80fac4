"""Interactions among 0/1 variables, found by intersecting random rows of a class."""
