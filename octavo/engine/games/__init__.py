"""Games of expert advice, replayed."""
