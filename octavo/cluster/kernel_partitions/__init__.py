"""Partitions by a kernel or an affinity: kernel k-means, doubly stochastic spectral clustering."""
