"""Compiled passes over rows of a stream."""
