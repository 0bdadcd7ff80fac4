"""Search among things that can only be sampled: graphs, recipes, molecules, with a property."""
