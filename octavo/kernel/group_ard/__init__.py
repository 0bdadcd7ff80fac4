"""Group-wise automatic relevance: variances of groups by marginal likelihood, and group lasso."""
