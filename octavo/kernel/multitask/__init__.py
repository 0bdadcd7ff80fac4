"""Maximum entropy discrimination: tasks that share switches of features, kernels or models."""
