"""Networks whose joint distribution function is a product of small distribution functions."""
