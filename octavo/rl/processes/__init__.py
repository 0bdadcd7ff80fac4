"""Markov decision processes, logs of transitions, traces and objectives."""
