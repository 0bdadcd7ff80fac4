"""Samples that identify a concept of a finite class, for teachers and learners that cooperate."""
