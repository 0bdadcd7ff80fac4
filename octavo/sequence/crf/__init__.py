"""Conditional random fields with label patterns of any length."""
