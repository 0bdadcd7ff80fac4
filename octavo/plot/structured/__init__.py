"""Pictures of structured outputs."""
