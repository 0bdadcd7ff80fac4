"""One-pass averaged stochastic gradient descent with certificates."""
