"""Structured problems from the papers' generators."""
