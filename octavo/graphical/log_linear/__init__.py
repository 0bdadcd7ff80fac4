"""Log-linear Markov networks over categories: features, weights, and what a network answers."""
