"""Selection by description length beside what is cross-validated."""
