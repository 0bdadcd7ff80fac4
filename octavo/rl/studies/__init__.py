"""Studies that compare evaluators over many problems."""
