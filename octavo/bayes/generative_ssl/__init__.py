"""Generative classifiers that learn from labelled and unlabelled rows."""
