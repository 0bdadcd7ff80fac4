"""Linear value functions: least squares, gradients, residuals and Gaussian processes."""
