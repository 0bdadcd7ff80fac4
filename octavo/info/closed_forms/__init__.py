"""Exact values for known families, and the accuracy of estimators beside them."""
