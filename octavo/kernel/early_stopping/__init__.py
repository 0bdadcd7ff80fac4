"""Kernel least squares by gradient descent, and when to stop it."""
