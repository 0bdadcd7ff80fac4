"""Ensembles of support vector machines that share their support vectors."""
