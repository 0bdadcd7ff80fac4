"""What the evaluators tend to, in closed form."""
