"""Decisions in stages: values, policies and roll-outs."""
