"""Mixtures whose weights depend on where a point lies: logistic and kernel stick-breaking."""
