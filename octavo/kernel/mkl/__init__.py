"""Multiple kernel learning: weights of kernels under an lp-norm, found with the machine."""
