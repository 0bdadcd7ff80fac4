"""Event logs and series: coded columns, exact reductions after one sort, time warping."""
