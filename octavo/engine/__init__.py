"""Numerics without estimators, one sub-package per subject.

Whether one room or five use a piece today does not matter; that no estimator lives here does.
"""
