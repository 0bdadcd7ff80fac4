"""Graph selection in parts: junction trees, region graphs, and the selectors that decide edges."""
