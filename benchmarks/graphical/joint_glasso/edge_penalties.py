"""Edge-based joint graphical lassos beside gglasso, on the objective that both minimise."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Contest
from octavo.graphical import (
    FusedJointGraphicalLasso,
    GroupJointGraphicalLasso,
    SeparateGraphicalLasso,
    make_node_perturbed_networks,
)

LAM1, LAM2 = 0.1, 0.05
ALONE = 0.2
MODELS = {"FGL": FusedJointGraphicalLasso, "GGL": GroupJointGraphicalLasso}


def correlations(p, K, seed=0):
    """The paper's simulation with n = p, as correlations; gglasso knows no sample sizes."""
    sample = make_node_perturbed_networks(p, p, random_state=seed, n_networks=K)
    return np.array([np.corrcoef(sample.X[sample.groups == k], rowvar=False) for k in range(K)])


def octavo(reg, tol):
    """Diagonals are not penalised, every network counts as one, as in gglasso."""

    def solve(S):
        model = MODELS[reg](LAM1, LAM2, penalize_diagonal=False, tol=tol, screening=False)
        return model.fit_covariances(S, np.ones(len(S))).precisions_

    return solve


def gglasso(reg, tol):
    def solve(S):
        from gglasso.solver.admm_solver import ADMM_MGL

        start = np.repeat(np.eye(S.shape[-1])[None], len(S), axis=0)
        with contextlib.redirect_stdout(io.StringIO()):
            found, _ = ADMM_MGL(S, LAM1, LAM2, reg, start, tol=tol, rtol=tol, max_iter=5000)
        return found["Theta"]

    return solve


def objective(reg, S, Theta):
    off = 1.0 - np.eye(S.shape[-1])
    value = sum((A * T).sum() - np.linalg.slogdet(T)[1] for A, T in zip(S, Theta))
    value += LAM1 * (off * np.abs(Theta)).sum()
    if reg == "FGL":
        return value + LAM2 * (off * np.abs(np.diff(Theta, axis=0))).sum()
    return value + LAM2 * (off * np.sqrt((Theta**2).sum(axis=0))).sum()


def equally_good(reg):
    """Both objectives are within 1e-5 of the least; octavo's is no farther from it."""

    def agree(S, answers):
        least = objective(reg, S, octavo(reg, 1e-10)(S))
        above = {name: objective(reg, S, Theta) - least for name, Theta in answers.items()}
        assert max(above.values()) < 1e-5
        assert above["octavo"] <= max(above["gglasso"], 1e-6)
        told = ", ".join(f"{name} {value:.0e}" for name, value in above.items())
        return f"Objective above the least one: {told}."

    return agree


def contest(reg, p, K):
    # The two stop by different rules: these tolerances leave equal objectives.
    return Contest(
        name=f"{reg} p = {p}",
        problem=f"{reg}, {K} networks, p = {p}, alpha_l1 = {LAM1}, alpha_joint = {LAM2}, "
        "objective to 1e-6",
        setup=lambda: correlations(p, K),
        solvers={"octavo": octavo(reg, 1e-5), "gglasso": gglasso(reg, 1e-8)},
        agree=equally_good(reg),
        repeats=5,
        target="Aim: at most 1.3 times gglasso's time.",
        limit="LAPACK: an eigendecomposition a network and step, of the blocks that screening "
        "leaves",
    )


def by_scikit_learn(S):
    from sklearn.covariance import graphical_lasso

    with warnings.catch_warnings():
        # It runs to its 100 iterations with a negative dual gap.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.array([graphical_lasso(A, ALONE)[1] for A in S])


def by_octavo_apart(S):
    model = SeparateGraphicalLasso(ALONE, penalize_diagonal=False)
    return model.fit_covariances(S, np.ones(len(S))).precisions_


def same_networks(S, answers):
    one, other = answers.values()
    gap = float(np.abs(one - other).max())
    assert gap < 1e-2
    return f"Entries differ by {gap:.0e} at most."


CONTESTS = [
    contest("FGL", 100, 2),
    contest("GGL", 100, 3),
    contest("FGL", 200, 2),
    Contest(
        name="graphical lasso",
        problem=f"Two separate graphical lassos, p = 100, lam = {ALONE}, diagonal not penalised",
        setup=lambda: correlations(100, 2),
        solvers={"octavo": by_octavo_apart, "scikit-learn graphical_lasso": by_scikit_learn},
        agree=same_networks,
        repeats=3,
        limit="LAPACK: an eigendecomposition a network and step, of the blocks that screening "
        "leaves",
    ),
]
