"""Bit sets, contingency tables, blocks of graphs."""
