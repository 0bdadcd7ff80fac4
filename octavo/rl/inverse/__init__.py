"""Rewards that explain an expert, who may see only part of the state."""
