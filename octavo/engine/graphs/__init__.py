"""Graphs and orders: checked link matrices, distances of rankings, feedback arc sets."""
