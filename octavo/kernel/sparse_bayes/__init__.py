"""Bayes kernel machines whose active vectors, widths and weights are sampled."""
