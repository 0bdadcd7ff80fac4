"""Energies of labellings of graphs: truncated convex models and how they are minimised."""
