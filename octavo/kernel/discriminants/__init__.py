"""Discriminants and subspaces in the feature space of a kernel."""
