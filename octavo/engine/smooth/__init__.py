"""Smooth optimisation: quasi-Newton, Newton, EM, black boxes."""
