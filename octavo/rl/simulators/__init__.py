"""Simulated tasks with gymnasium's interface, the policies that act in them, and episodes."""
