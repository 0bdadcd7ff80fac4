"""One module a paper: its record, its methods, and its claims with how they are measured."""
