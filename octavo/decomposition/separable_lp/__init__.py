"""Separable factorisation by linear optimisation, with a guarantee against noise."""
