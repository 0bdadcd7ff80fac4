"""Data sets that are found, fetched and verified."""
