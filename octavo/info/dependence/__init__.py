"""Dependence between columns: mutual information, copulas, distances and kernels."""
