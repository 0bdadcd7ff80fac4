"""Mixtures of Gaussians: fewer components without the data."""
