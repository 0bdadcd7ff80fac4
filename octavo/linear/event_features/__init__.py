"""Features of entities from event logs, and models for few positives among many rows."""
