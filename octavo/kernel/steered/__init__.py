"""Kernel PCA whose map the user steers by pins, links and labels."""
