"""Eigenvectors of graphs and of what is like one."""
