"""Tyler's shape beside pyriemann's."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.decomposition import tyler_shape


def rows(n, d):
    rng = np.random.default_rng(0)
    return rng.standard_t(2.0, (n, d)) * np.geomspace(1.0, 0.1, d)


def pyriemann_tyler(X):
    from pyriemann.geometry.covariance import covariance_mest

    return covariance_mest(X.T, "tyl", tol=1e-10, n_iter_max=1000, assume_centered=True)


def same_shape(X, answers):
    ours, theirs = answers["octavo"].scatter, answers["pyriemann"]
    apart = np.abs(ours - theirs / np.trace(theirs)).max() / np.abs(ours).max()
    assert apart < 1e-8
    return f"Shapes agree to {apart:.0e}."


CONTESTS = [
    Contest(
        name=f"{n} by {d}",
        problem=f"Tyler's shape, {n:,} rows of {d} features, fixed point to 1e-10",
        setup=lambda n=n, d=d: rows(n, d),
        solvers={"octavo": lambda X: tyler_shape(X), "pyriemann": pyriemann_tyler},
        agree=same_shape,
        repeats=9,
        limit="BLAS: a weighted covariance and a triangular solve of all rows an iteration",
    )
    for n, d in ((500, 20), (2000, 100))
]
