"""Communities of graphs: quality functions, their axioms, and the search for the best."""
