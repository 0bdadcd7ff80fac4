"""Expert advice with a regret bound and nothing to tune."""
