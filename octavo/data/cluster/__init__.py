<<<<<<< HEAD
"""Generators of graphs with clusters."""
=======
"""Generators from the papers."""
>>>>>>> main
