"""Data of searches: published runs, and problems of relations."""
