"""Ground metrics: distances between bins, learned from labelled histograms."""
