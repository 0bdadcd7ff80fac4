"""Log-linear Markov networks learned from rows: by trees, l1 regressions and search."""
