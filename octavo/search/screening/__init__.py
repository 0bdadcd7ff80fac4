"""Designed experiments: screen settings with a handful of runs, then climb those that matter."""
