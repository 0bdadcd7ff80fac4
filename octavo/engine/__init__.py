"""Numerics without estimators, one sub-package per subject, whether one room or five use them today."""
