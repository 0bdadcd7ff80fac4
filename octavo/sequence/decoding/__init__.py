"""Paths of hidden Markov models between Viterbi and posterior decoding."""
