"""Sources that each channel sees scaled and delayed: anechoic mixtures, and their transforms."""
