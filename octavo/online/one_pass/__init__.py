"""Linear classifiers that see every row once."""
