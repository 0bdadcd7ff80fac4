"""Slow features of time series, and sources behind a nonlinear mixture."""
