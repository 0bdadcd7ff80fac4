"""Perturbed leaders for losses of any sign and size."""
