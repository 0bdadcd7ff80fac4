"""Precision matrices by linear programs."""
