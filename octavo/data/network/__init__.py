"""Networks from the papers' generators."""
