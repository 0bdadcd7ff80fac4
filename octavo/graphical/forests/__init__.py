"""Densities and graphs of variables that need not be Gaussian: forests of kernel densities."""
