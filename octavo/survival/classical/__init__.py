"""The classical tools of survival analysis: curves, tests, Cox's model."""
