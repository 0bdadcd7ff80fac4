"""Linear programs along a path of their parameter."""
