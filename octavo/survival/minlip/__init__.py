"""Transformation models of minimal Lipschitz constant: ranking, survival, ordinal regression."""
