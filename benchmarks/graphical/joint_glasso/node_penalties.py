"""Node-based joint graphical lassos beside cvxpy and the paper's own algorithm."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.graphical import (
    CohubNodeJointGraphicalLasso,
    PerturbedNodeJointGraphicalLasso,
    make_node_perturbed_networks,
)

MODELS = {"perturbed": PerturbedNodeJointGraphicalLasso, "cohub": CohubNodeJointGraphicalLasso}
PENALTIES = {"perturbed": (0.1, 0.5), "cohub": (0.02, 1.5)}  # of Figure 16


def covariances(p, n, seed=0):
    """The paper's simulation, with n rows for each of two networks."""
    sample = make_node_perturbed_networks(p, n, random_state=seed)
    S = [np.cov(sample.X[sample.groups == k], rowvar=False, bias=True) for k in (0, 1)]
    return np.array(S), np.full(2, float(n))


def octavo(kind, **options):
    def solve(problem):
        return MODELS[kind](*PENALTIES[kind], **options).fit_covariances(*problem)

    return solve


def by_cvxpy(kind, **options):
    """The problem as the paper writes it; SCS is what cvxpy picks."""

    def solve(problem):
        import cvxpy as cp

        S, n = problem
        p, (alpha_l1, alpha_joint) = S.shape[-1], np.array(PENALTIES[kind]) * n.mean()
        Theta = [cp.Variable((p, p), symmetric=True) for _ in S]
        objective = sum(
            m * (cp.trace(A @ T) - cp.log_det(T)) + alpha_l1 * cp.sum(cp.abs(T))
            for m, A, T in zip(n, S, Theta)
        )
        if kind == "perturbed":
            V = cp.Variable((p, p))
            constraints = [Theta[0] - Theta[1] == V + V.T]
        else:
            parts = [cp.Variable((p, p)) for _ in S]
            off = 1.0 - np.eye(p)
            constraints = [cp.multiply(off, T) == V + V.T for T, V in zip(Theta, parts)]
            V = cp.vstack(parts)
        objective = objective + alpha_joint * cp.sum(cp.norm(V, 2, axis=0))
        cp.Problem(cp.Minimize(objective), constraints).solve(solver="SCS", **options)
        return np.array([T.value for T in Theta])

    return solve


def errors(kind):
    """Say how far each answer is from a solution to 1e-10; neither may be a hundred times worse."""

    def agree(problem, answers):
        exact = octavo(kind, tol=1e-10, max_iter=50_000)(problem).precisions_
        found = {}
        for name, answer in answers.items():
            precisions = getattr(answer, "precisions_", answer)
            found[name] = float(np.abs(precisions - exact).max())
        assert max(found.values()) < 1e-2
        assert found["octavo"] < 10 * min(found.values()) + 1e-5
        told = ", ".join(f"{name} {error:.0e}" for name, error in found.items())
        return f"Largest error of an entry: {told}."

    return agree


def contest(kind, p, n, tol):
    name = {"perturbed": "PNJGL", "cohub": "CNJGL"}[kind]
    return Contest(
        name=f"{name} p = {p}",
        problem=f"{name}, two networks, p = {p}, n = {n}, penalties of Figure 16",
        setup=lambda: covariances(p, n),
        solvers={"octavo": octavo(kind, tol=tol), "cvxpy (SCS)": by_cvxpy(kind)},
        agree=errors(kind),
        repeats=3,
        target="Aim: 20 times cvxpy at p = 50; the paper has 6000 times over cvx of 2010.",
        limit="LAPACK: an eigendecomposition a network and step, of the blocks that screening "
        "leaves",
    )


CONTESTS = [
    contest("perturbed", 50, 25, 1e-6),
    contest("cohub", 50, 25, 3e-7),
    Contest(
        name="paper's algorithm",
        problem="PNJGL, two networks, p = 100, n = 25, error of an entry near 1e-3",
        setup=lambda: covariances(100, 25),
        solvers={
            "octavo": octavo("perturbed", tol=1e-5),
            "octavo, solver='paper'": octavo("perturbed", solver="paper", tol=1e-6, max_iter=5000),
        },
        agree=errors("perturbed"),
        repeats=3,
        target="Both are octavo's: two blocks against Algorithm 1.",
        limit="LAPACK: an eigendecomposition a network and step, of the blocks that screening "
        "leaves",
    ),
    Contest(
        name="screening",
        problem="PNJGL, two networks, p = 300, n = 150, alpha_l1 = 0.25: blocks apart or at once",
        setup=lambda: covariances(300, 150),
        solvers={
            "octavo": lambda problem: PerturbedNodeJointGraphicalLasso(0.25, 0.5).fit_covariances(
                *problem
            ),
            "octavo, screening=False": lambda problem: PerturbedNodeJointGraphicalLasso(
                0.25, 0.5, screening=False
            ).fit_covariances(*problem),
        },
        repeats=3,
        limit="LAPACK: an eigendecomposition a network and step, of the blocks that screening "
        "leaves",
    ),
]
