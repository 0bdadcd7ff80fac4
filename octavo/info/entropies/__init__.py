"""Entropies of one sample, by neighbours, graphs, spacings and expansions."""
