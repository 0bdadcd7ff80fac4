"""Trees: messages over labellings of a forest, tables on junction trees."""
