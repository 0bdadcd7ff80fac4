"""Support vector machines on a weighted set of representatives."""
