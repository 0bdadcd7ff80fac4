"""Event logs and series: reductions, time warping."""
