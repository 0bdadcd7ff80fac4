"""Correlations between two sets of variables, exactly and with kernels."""
