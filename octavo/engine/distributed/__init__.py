"""Sums over machines: shards, communicators, timing."""
