"""Private linear classifiers beside scikit-learn's non-private ones and a generic optimiser.

diffprivlib 0.6.6, which a user would otherwise pick, does not import with scikit-learn 1.9. What it
does at heart, scipy's L-BFGS-B on a Python function of the perturbed objective, is run here on
the same objective to the same gradient.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import Contest
from octavo.linear import PrivateLogisticRegression, calibrate_perturbation
from octavo.linear.private.noise import NoiseSource, draw_noise
from octavo.linear.private.perturbation import exact_minimiser, private_loss

TOL = 1e-8  # largest norm of the gradient of the mean loss plus penalty
ALPHA = 1e-3


def census(n=45_222):
    """Return data of Adult's shape: 6 numbers and 8 one-hot groups, 104 features, norm 1."""
    rng = np.random.default_rng(0)
    groups = [7, 16, 7, 14, 6, 5, 2, 41]
    blocks = [sp.csr_array(rng.beta(1, 4, (n, 6)))]
    for size in groups:
        code = rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.5)))
        blocks.append(sp.csr_array((np.ones(n), (np.arange(n), code)), shape=(n, size)))
    X = sp.csr_array(sp.hstack(blocks))
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    X.sum_duplicates()  # columns in order, as a one-hot encoder gives them
    y = np.where(X @ (4 * rng.normal(size=104)) + rng.logistic(size=n) > 1, 1, -1)
    return X, y


def gradient_norm(X, y, f, tilt=0.0, alpha=ALPHA):
    slope = -y / (1 + np.exp(y * (X @ f)))
    return np.linalg.norm(X.T @ slope / len(y) + alpha * f + tilt)


def non_private(X, y):
    return PrivateLogisticRegression(np.inf, alpha=ALPHA, tol=TOL).fit(X, y).coef_[0]


def scikit_learn(X, y, solver, tol):
    model = LogisticRegression(
        C=1 / (len(y) * ALPHA), fit_intercept=False, solver=solver, tol=tol, max_iter=10_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y).coef_[0]


def same_minimum(data, answers):
    norms = {name: gradient_norm(*data, f) for name, f in answers.items()}
    assert max(norms.values()) <= TOL, norms
    gap = max(np.abs(f - answers["octavo"]).max() for f in answers.values())
    assert gap <= 2 * TOL / ALPHA
    return f"All gradients are at most {max(norms.values()):.0e}; coefficients differ by {gap:.0e}."


def noisy():
    X, y = census()
    noise = calibrate_perturbation("objective", n_samples=len(y), alpha=ALPHA, epsilon=0.1)
    b = draw_noise(X.shape[1], noise.noise_scale, NoiseSource(np.random.RandomState(0)))
    return X, y.astype(float), noise, b / len(y)


def private_octavo(problem):
    """The certified minimiser; what is released is rounded at random afterwards."""
    X, y, noise, tilt = problem
    strength = ALPHA + noise.delta_reg
    return exact_minimiser(X, y, private_loss("logistic"), strength, noise, TOL, tilt=tilt)


def private_lbfgs(problem):
    X, y, noise, tilt = problem
    strength = ALPHA + noise.delta_reg

    def value_and_gradient(f):
        margin = y * (X @ f)
        value = np.logaddexp(0, -margin).mean() + strength / 2 * f @ f + tilt @ f
        return value, X.T @ (-y / (1 + np.exp(margin))) / len(y) + strength * f + tilt

    limits = {"maxiter": 10_000, "gtol": TOL / 20, "ftol": 0.0, "maxcor": 30}
    return minimize(
        value_and_gradient, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=limits
    ).x


def same_private_model(problem, answers):
    X, y, noise, tilt = problem
    strength = ALPHA + noise.delta_reg
    norms = {name: gradient_norm(X, y, f, tilt, strength) for name, f in answers.items()}
    gap = np.abs(np.subtract(*answers.values())).max()
    assert max(norms.values()) <= 10 * TOL, norms
    listed = ", ".join(f"{name} {norm:.0e}" for name, norm in norms.items())
    return f"Same noise; gradients: {listed}; coefficients differ by {gap:.0e}."


CONTESTS = [
    Contest(
        name="one fit, sparse",
        problem="Logistic regression without noise, 45,222 x 104 one-hot (Adult's shape), "
        "gradient at most 1e-8",
        setup=census,
        solvers={
            "octavo": lambda data: non_private(*data),
            "scikit-learn newton-cholesky": lambda d: scikit_learn(*d, "newton-cholesky", 1e-9),
            "scikit-learn lbfgs": lambda d: scikit_learn(*d, "lbfgs", 1e-9),
        },
        agree=same_minimum,
        target="Aim: privacy costs no time; at least as fast as scikit-learn's exact solver.",
        limit="memory bandwidth: two products with the sparse rows a step of the line search",
    ),
    Contest(
        name="one private fit",
        problem="Objective perturbation of the same data, ε = 0.1, same noise, gradient 1e-8",
        setup=noisy,
        solvers={"octavo": private_octavo, "scipy L-BFGS-B on a Python function": private_lbfgs},
        agree=same_private_model,
        target="Aim: no slower than a generic optimiser although exact to rounding. diffprivlib "
        "0.6.6, which works like the second row, does not import with scikit-learn 1.9.",
        limit="memory bandwidth: two products with the sparse rows a step of the line search",
    ),
]
