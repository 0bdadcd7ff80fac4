"""Matrix manifolds: points, tangent vectors, retractions and descent along them."""
