"""Divergences, proper losses and cost curves of two distributions, and what ties them together."""
