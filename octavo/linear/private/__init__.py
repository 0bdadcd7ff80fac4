"""Differentially private linear and kernel classifiers, their tuning and their audit."""
