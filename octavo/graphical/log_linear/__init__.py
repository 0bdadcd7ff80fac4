"""Log-linear Markov networks over categories, learned by trees, l1 regressions and search."""
