"""The combined proximal map and the joint predictor beside cvxpy, at equal objectives."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_autoregressive_graphs
from octavo.network import AutoregressiveLinkPredictor, link_auc, prox_nuclear_l1


def low_rank(seed):
    rng = np.random.RandomState(seed)
    low = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 50))
    return low + 0.3 * rng.standard_normal((50, 50))


def uniform():
    return np.random.RandomState(1).uniform(size=(50, 50))


def groups():
    rng = np.random.RandomState(4)
    group = rng.randint(5, size=50)
    links = rng.uniform(size=(50, 50)) < np.where(group[:, None] == group, 0.6, 0.05)
    upper = np.triu(links, 1).astype(float)
    return upper + upper.T


# what Y is, Y, tau, gamma, whether entries must not be negative
MAPS = {
    "nuclear-l1-map": ("three factors and noise", low_rank(0), 3.0, 0.2, False),
    "nuclear-l1-few": ("few singular values are left", low_rank(5), 8.0, 0.5, False),
    "nuclear-l1-weak": ("weak penalties on uniform noise", uniform(), 1.0, 0.1, False),
    "nuclear-l1-graph": ("a graph of five groups, not negative", groups(), 2.0, 0.2, True),
}


def value(problem, X):
    _, Y, tau, gamma, _ = problem
    penalty = tau * np.linalg.norm(X, "nuc") + gamma * np.abs(X).sum()
    return 0.5 * ((X - Y) ** 2).sum() + penalty


def our_map(problem):
    return prox_nuclear_l1(*problem[1:])


def map_by_cvxpy(problem):
    import cvxpy as cp

    _, Y, tau, gamma, nonneg = problem
    X = cp.Variable(Y.shape, nonneg=nonneg)
    penalty = tau * cp.normNuc(X) + gamma * cp.sum(cp.abs(X))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(X - Y) + penalty))
    problem.solve(solver="SCS", eps=1e-8, max_iters=100_000)
    return X.value


def same_matrix(problem, answers):
    ours, theirs = answers.values()
    apart = np.linalg.norm(ours - theirs) / np.linalg.norm(ours)
    spread = abs(value(problem, ours) - value(problem, theirs)) / value(problem, ours)
    assert apart < 2e-8
    assert spread < 1e-8
    return f"matrices agree to {apart:.0e}, objectives to {spread:.0e}."


def series():
    return make_autoregressive_graphs(20, 3, 8, density=0.4, random_state=0).snapshots


def psi_of(A):
    V = np.linalg.svd(A.sum(axis=0))[2][:3].T
    return V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(3)])


def our_fit(A):
    return AutoregressiveLinkPredictor(3e-3, 3e-4, 1e-3, feature_map=psi_of(A)).fit(A).objective_


def fit_by_cvxpy(A):
    import cvxpy as cp

    psi = psi_of(A)
    F = A @ psi
    X, K = cp.Variable(A[0].shape, nonneg=True), cp.Variable((3, 3))
    past = sum(cp.sum_squares(F[t + 1] - F[t] @ K) for t in range(len(A) - 1)) / (len(A) - 1)
    coming = cp.sum_squares(X @ psi - F[-1] @ K) / F[0].size
    penalty = 1e-3 * 20 * cp.sum(cp.abs(K)) + 3e-3 * cp.normNuc(X) + 3e-4 * cp.sum(X)
    return cp.Problem(cp.Minimize(past + coming + penalty)).solve(solver="CLARABEL")


def same_objective(_, answers):
    values = list(answers.values())
    spread = np.ptp(values) / values[0]
    assert spread < 1e-4
    return f"objectives agree to {spread:.0e}."


def large_series():
    made = make_autoregressive_graphs(2000, 5, 5, random_state=0)
    small = make_autoregressive_graphs(20, 3, 4, random_state=0)
    AutoregressiveLinkPredictor(1e-3, 1e-5, 1e-3, rank=3).fit(small.snapshots)  # compiles
    return made


def large_fit(made):
    return AutoregressiveLinkPredictor(1e-3, 1e-5, 1e-3).fit(made.snapshots)


def foreseen(made, answers):
    (model,) = answers.values()
    links = int((model.A_sparse_ != 0.0).sum())
    assert links > 0
    auc = link_auc(made.A_next, model.A_sparse_)  # of what is left in its zeros none is a score
    return (
        f"{model.n_iter_} steps, residual of optimality {model.kkt_residual_:.0e}, "
        f"{links:,} links foreseen, area {auc:.3f}."
    )


CONTESTS = [
    *(
        Contest(
            name=name,
            problem=f"nuclear norm and absolute values together, 50 x 50: {problem[0]} "
            f"(tau {problem[2]:g}, gamma {problem[3]:g})",
            setup=lambda problem=problem: problem,
            solvers={"octavo": our_map, "cvxpy (SCS, eps=1e-8)": map_by_cvxpy},
            agree=same_matrix,
            repeats=5,
            target="at least 50 times",
            limit="five to twenty decompositions of 0.2 ms, and for each some ten products with "
            "the curvature of 0.03 ms",
        )
        for name, problem in MAPS.items()
    ),
    Contest(
        name="joint-links",
        problem="the joint problem, eight graphs of 20 nodes, rank 3",
        setup=series,
        solvers={"octavo": our_fit, "cvxpy (Clarabel)": fit_by_cvxpy},
        agree=same_objective,
        repeats=3,
        target="at least as fast",
        limit="one eigendecomposition a step",
    ),
    Contest(
        name="two thousand nodes",
        problem="the joint problem, five graphs of 2,000 nodes, rank 5, tol 1e-6; no peer",
        setup=large_series,
        solvers={"octavo": large_fit},
        agree=foreseen,
        repeats=1,
        warm=False,
        target="a minute",
        limit="BLAS: products of 2,000 x 2,000 with a few vectors for each decomposition",
    ),
]
