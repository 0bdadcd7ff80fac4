"""Support vector machines without an offset: a box dual, warm starts and whole grids."""
