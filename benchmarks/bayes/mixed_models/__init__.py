"""Variational mixed models beside the packages that a user would pick instead."""
