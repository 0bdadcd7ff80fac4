"""Gram matrices in blocks, on any array namespace, and their low-rank factors."""
