"""Counts of survival analysis: targets, curves, concordance, Cox's likelihood, Brier scores."""
