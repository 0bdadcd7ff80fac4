"""Hidden Markov models: the type, sequences, starting points and updates."""
