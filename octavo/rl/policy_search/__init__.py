"""Policies from few episodes: Bayesian optimisation that reads trajectories, and its rivals."""
