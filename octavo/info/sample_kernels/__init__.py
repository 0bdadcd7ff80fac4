"""Kernels between whole samples."""
