"""The joint graphical lasso and its penalties."""
