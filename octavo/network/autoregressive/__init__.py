"""Tomorrow's links from a series of graphs: sparse, low-rank, with features that autoregress."""
