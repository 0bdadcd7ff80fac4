"""Points and graphs with known groups, from the papers' generators."""
