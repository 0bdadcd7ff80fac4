"""Several Gaussian graphical models at once, tied by edges or by nodes."""
