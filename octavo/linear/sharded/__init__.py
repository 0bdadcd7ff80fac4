"""Linear models on shards of the data, on one machine or many."""
