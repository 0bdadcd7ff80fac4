"""Greedy selection of features whose only penalty is the length of a code: MIC and TransFeat."""
