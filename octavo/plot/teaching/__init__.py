"""Pictures of teaching."""
