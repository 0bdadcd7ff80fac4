"""Proximal operators."""
