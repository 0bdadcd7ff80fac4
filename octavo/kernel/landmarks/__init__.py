"""Landmarks for the Nyström method: which rows a low-rank kernel should stand on."""
