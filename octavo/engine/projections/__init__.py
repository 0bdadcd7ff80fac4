"""Projections: isotonic, cones, simplices."""
