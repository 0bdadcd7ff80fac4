"""Eigenvectors of graphs and of what is like one; spectral paths of Gram matrices."""
