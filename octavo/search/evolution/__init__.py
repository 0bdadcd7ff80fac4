"""Natural evolution strategies."""
