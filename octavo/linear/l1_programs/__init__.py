"""Sparse regression and linear programs, followed along their whole path."""
