"""Markov chain Monte Carlo: chains, moves, diagnostics, and the two oracles that test a sampler."""
