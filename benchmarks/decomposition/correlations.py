"""Canonical correlations beside scikit-learn's, which finds one after another."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cross_decomposition import CCA

from benchmarks.harness import Contest
from octavo.decomposition import ExactCCA


def views():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2000, 10))
    X = shared @ rng.normal(size=(10, 40)) + 2.0 * rng.normal(size=(2000, 40))
    Y = shared @ rng.normal(size=(10, 30)) + 2.0 * rng.normal(size=(2000, 30))
    return X, Y


def ours(data):
    return ExactCCA(10).fit(*data).correlations_


def nipals(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CCA(10, max_iter=5000, tol=1e-12).fit(*data)
        u, v = model.transform(*data)
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(u.T, v.T, strict=True)])


def same(data, answers):
    ours, theirs = answers["octavo"], answers["scikit-learn CCA"]
    gap = float(np.abs(np.sort(ours) - np.sort(theirs)).max())
    assert gap <= 1e-4
    return f"correlations differ by {gap:.1e}."


CONTESTS = [
    Contest(
        name="ten-components",
        problem="ten components of 2,000 rows with 40 and 30 columns",
        setup=views,
        solvers={"octavo": ours, "scikit-learn CCA": nipals},
        agree=same,
        target="at least ten times",
        limit="two QR factorisations",
    ),
]
