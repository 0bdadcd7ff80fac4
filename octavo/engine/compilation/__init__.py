"""Compiled kernels: numba's compiler with a cache on disk that can never be stale."""
