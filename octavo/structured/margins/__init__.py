"""Margins that know how far classes are apart, and where phrases move in translation."""
