"""Folds, scores, and the processes that fit them within a budget."""
