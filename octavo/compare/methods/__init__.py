"""What is tried: candidates of octavo, baselines, and how features are given to them."""
