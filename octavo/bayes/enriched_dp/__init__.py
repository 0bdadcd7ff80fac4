"""Enriched Dirichlet process mixtures: few local regressions, each with many covariate clusters."""
