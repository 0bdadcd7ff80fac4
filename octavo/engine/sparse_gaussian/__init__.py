"""Sparse precision matrices: factor, solve, determinant, selected inverse; terms on top of them."""
