"""Numerics that two or more rooms share, one piece a module."""
