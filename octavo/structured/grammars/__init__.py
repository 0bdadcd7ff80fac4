"""Dependency grammars learned from tag sequences, and sparse posteriors."""
