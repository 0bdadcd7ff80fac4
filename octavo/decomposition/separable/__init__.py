"""Separable nonnegative factorisations by ellipsoids and pursuits."""
