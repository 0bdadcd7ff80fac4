"""Event logs: coded columns, one sort by entity and time, and reductions that are exact."""
