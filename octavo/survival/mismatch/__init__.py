"""Long recordings: symbols, their mismatch, outliers of a cohort and their risk."""
