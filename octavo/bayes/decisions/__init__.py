"""Decisions of least expected loss, and beliefs that are updated one observation at a time."""
