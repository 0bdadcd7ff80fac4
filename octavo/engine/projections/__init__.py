<<<<<<< HEAD
"""Projections: isotonic, cones, simplices."""
=======
"""Projections onto convex sets, one module a set."""
>>>>>>> main
