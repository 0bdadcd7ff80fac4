"""Benchmark problems: chains, Garnets, poles and pendulums."""
