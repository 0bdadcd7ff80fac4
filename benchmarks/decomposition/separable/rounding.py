"""Ellipsoidal rounding beside SPA, pivoted QR and scikit-learn's NMF; block NNLS beside scipy's."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Contest
from octavo.data import make_separable
from octavo.decomposition import (
    EllipsoidalRoundingNMF,
    SuccessiveProjection,
    nonnegative_weights,
    successive_projection,
)


def sklearn_nmf(sample):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return NMF(10, init="nndsvda", max_iter=200).fit(np.maximum(sample.X, 0.0))


def recovery(sample, answers):
    shares = {
        name: len(set(model.anchor_indices_) & set(sample.anchors)) / len(sample.anchors)
        for name, model in answers.items()
        if hasattr(model, "anchor_indices_")
    }
    assert shares["octavo ER-SPA"] >= shares["octavo SPA"]
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return f"Anchors recovered: {told}; NMF solves another problem, to a local minimum."


def same_pivots(X, answers):
    np.testing.assert_array_equal(answers["octavo SPA"], answers["scipy pivoted QR"])
    return "The same indices."


def mixed(n=5_000):
    sample = make_separable(n, noise=0.1, random_state=0)
    return sample.X, sample.basis


def scipy_rows(problem):
    X, H = problem
    return np.array([nnls(H.T, x)[0] for x in X])


def same_weights(_, answers):
    gap = np.abs(answers["octavo"] - answers["scipy nnls"]).max()
    assert gap < 1e-9
    return f"Weights differ by {gap:.0e} at most."


CONTESTS = [
    Contest(
        name="factorisation",
        problem="Ten anchors and all weights of 5,000 × 250, δ = 0.25 (the paper's section 6.1)",
        setup=lambda: make_separable(noise=0.25, random_state=1),
        solvers={
            "octavo ER-SPA": lambda sample: EllipsoidalRoundingNMF(10).fit(sample.X),
            "octavo SPA": lambda sample: SuccessiveProjection(10).fit(sample.X),
            "scikit-learn NMF": sklearn_nmf,
        },
        agree=recovery,
        target="Aim: the ellipsoid, its SVD included, at most trebles the time of SPA.",
        limit="BLAS: the factor of 5,000 x 250, then the ellipsoid in ten dimensions",
    ),
    Contest(
        name="successive projection",
        problem="The first ten pivots of 5,000 points in 250 dimensions",
        setup=lambda: make_separable(noise=0.25, random_state=0).X,
        solvers={
            "octavo SPA": lambda X: successive_projection(X, 10),
            "scipy pivoted QR": lambda X: qr(X.T, mode="r", pivoting=True)[1][:10],
        },
        agree=same_pivots,
        target="QR computes all 250 pivots; LAPACK cannot stop early.",
        limit="memory bandwidth: the points are read once a pivot",
        traffic=5000 * 250 * 8 * 10,
    ),
    Contest(
        name="weights",
        problem="Non-negative least squares of 5,000 rows on ten components, exact",
        setup=mixed,
        solvers={"octavo": lambda problem: nonnegative_weights(*problem), "scipy nnls": scipy_rows},
        agree=same_weights,
        limit="BLAS: products with ten components; active sets of ten",
    ),
]
