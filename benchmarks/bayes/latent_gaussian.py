"""LatentGaussianModel beside dense Gaussian processes and a general optimiser.

The wheels of pyinla hold no INLA: its engine is fetched from another site at the first call, so
that it cannot take part where there is no network.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from benchmarks.harness import Contest
from octavo.bayes import GPProbitClassifier, LatentGaussianModel, ar1, thin_plate_grid


def series(n=100_000):
    rng = np.random.default_rng(0)
    return rng.poisson(1.0, n).astype(float), ar1(n, 0.9, 2.0)


def ep(problem):
    y, Q = problem
    return LatentGaussianModel("poisson", prior=Q).fit(y).mean_


def laplace(problem):
    y, Q = problem
    return LatentGaussianModel("poisson", prior=Q, method="laplace").fit(y).mean_


def newton_by_superlu(problem):
    """The mode alone, by what scipy offers: no variances, no evidence."""
    y, Q = problem
    x = np.zeros(y.size)
    for _ in range(50):
        rate = np.exp(x)
        step = splu(sp.csc_array(Q + sp.diags_array(rate))).solve(y - rate - Q @ x)
        x = x + step
        if abs(step).max() < 1e-8:
            break
    return x


def same_mode(_, answers):
    gap = abs(answers["octavo Laplace"] - answers["scipy SuperLU, mode only"]).max()
    assert gap < 1e-5
    return f"The modes differ by {gap:.1e}."


def forest(shape=(101, 201)):
    rng = np.random.default_rng(0)
    r, c = np.mgrid[: shape[0], : shape[1]] / shape[0]
    counts = rng.poisson(np.exp(-1.5 + np.sin(5 * c) * np.cos(3 * r)))
    return counts.ravel().astype(float), 50.0 * thin_plate_grid(*shape) + 1e-6 * sp.eye_array(
        counts.size
    )


def labelled(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(n) > 0).astype(int)
    test = rng.standard_normal((500, 3))
    truth = (np.sin(2 * test[:, 0]) + test[:, 1] + 0.5 * rng.standard_normal(500) > 0).astype(int)
    return X, y, test, truth


def log_loss(problem, answers):
    truth = problem[3]
    found = {
        name: -np.mean(np.log(np.clip(p[np.arange(truth.size), truth], 1e-12, 1)))
        for name, p in answers.items()
    }
    return "Log loss: " + ", ".join(f"{k} {v:.4f}" for k, v in found.items()) + "."


def octavo_gp(problem):
    X, y, test, _ = problem
    return GPProbitClassifier(1.0 * RBF(1.0), marginals="ep-g").fit(X, y).predict_proba(test)


def sklearn_gp(problem):
    X, y, test, _ = problem
    return GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y).predict_proba(test)


def radar():
    from octavo.data import load_dataset

    found = load_dataset("uci/ionosphere")
    return np.asarray(found.data, dtype=float), np.asarray(found.target)


def octavo_ep(problem):
    fitted = GPProbitClassifier(4.0 * RBF(2.0), optimizer=None, tol=1e-8).fit(*problem)
    return fitted.log_marginal_likelihood_value_, *fitted.latent_mean_and_variance(problem[0])


def gpy_ep(problem):
    import GPy

    X, y = problem
    model = GPy.core.GP(
        X,
        (y == y.max()).astype(float)[:, None],
        kernel=GPy.kern.RBF(X.shape[1], variance=4.0, lengthscale=2.0),
        likelihood=GPy.likelihoods.Bernoulli(),
        inference_method=GPy.inference.latent_function_inference.EP(epsilon=1e-8),
    )
    mean, variance = model._raw_predict(X)
    return float(np.ravel(model.log_likelihood())[0]), mean.ravel(), variance.ravel()


def same_evidence(_, answers):
    ours, theirs = answers["octavo GPProbitClassifier"], answers["GPy EP"]
    gaps = [float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True)]
    assert gaps[0] < 1e-4, gaps
    return (
        f"Log evidence {ours[0]:.6f}, gap {gaps[0]:.1g}; latent means differ by {gaps[1]:.1g}, "
        f"variances by {gaps[2]:.1g}."
    )


CONTESTS = [
    Contest(
        name="ionosphere",
        problem="EP for a Gaussian process probit of 351 rows (ionosphere), kernel given",
        setup=radar,
        solvers={"octavo GPProbitClassifier": octavo_ep, "GPy EP": gpy_ep},
        agree=same_evidence,
        repeats=3,
        target="The same evidence, to 1e-4.",
        limit="rank-one changes of a dense covariance: 351 of them a sweep",
    ),
    Contest(
        name="series",
        problem="Posterior of 100,000 log rates with an AR(1) prior from Poisson counts",
        setup=series,
        solvers={
            "octavo EP": ep,
            "octavo Laplace": laplace,
            "scipy SuperLU, mode only": newton_by_superlu,
        },
        agree=same_mode,
        repeats=2,
        target="Under 5 s and 1 GB by EP.",
        limit="arithmetic: quadratures of 100,000 sites a sweep, beside which a band's factor "
        "is small",
    ),
    Contest(
        name="forest",
        problem="Poisson counts on a 101 x 201 grid with a thin-plate prior",
        setup=forest,
        solvers={
            "octavo EP": ep,
            "octavo Laplace": laplace,
            "scipy SuperLU, mode only": newton_by_superlu,
        },
        agree=same_mode,
        repeats=2,
        target="Under 60 s by EP, within 5 times Laplace.",
        limit="the sparse factor of the grid's precision and its partial inverse, a sweep",
    ),
    Contest(
        name="gp",
        problem="Gaussian process classification of 400 rows, kernel fitted, 500 rows predicted",
        setup=labelled,
        solvers={"octavo GPProbitClassifier": octavo_gp, "scikit-learn": sklearn_gp},
        agree=log_loss,
        repeats=2,
        target="No worse in log loss.",
        limit="rank-one changes of a dense covariance, for every step of the kernel's parameters",
    ),
]
