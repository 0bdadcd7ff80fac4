"""Fixed-rank learning beside metric-learn's ITML and pymanopt."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_fixed_rank_targets, make_planted_metric
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.metric import FixedRankPSDRegressor, LowRankMahalanobis
from octavo.metric.fixed_rank.constraints import label_pairs, percentile_bounds
from octavo.metric.fixed_rank.item_streams import item_pairs, start_item_stream
from octavo.metric.fixed_rank.streams import Schedule, run_pass


def speech_sized():
    """Return rows of Isolet's width with pairs and bounds on their squared distances."""
    X, y, _ = make_planted_metric(1500, 617, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    pairs, relation = label_pairs(y, 2000, np.random.RandomState(0))
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    low, high = percentile_bounds((D**2).sum(axis=1), (5, 95))
    return X, pairs, relation, low, high


def low_rank(problem):
    X, pairs, relation, low, high = problem
    model = LowRankMahalanobis(10, standardize=False)
    return model.fit_pairs(X, pairs, relation, np.where(relation == 1, low, high)).transform(X)


def itml(problem):
    """Run ten sweeps of ITML, which are not enough for it: its ratio is a lower bound."""
    import metric_learn
    from sklearn.utils import validation

    def renamed(name):  # scikit-learn calls force_all_finite otherwise now
        def check(*args, force_all_finite=True, **options):
            return getattr(validation, name)(*args, ensure_all_finite=force_all_finite, **options)

        return check

    for name in ("check_X_y", "check_array"):
        setattr(metric_learn._util, name, renamed(name))
    X, pairs, relation, low, high = problem
    model = metric_learn.ITML(max_iter=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[pairs], relation, bounds=[low, high])
    return X @ np.linalg.cholesky(model.get_mahalanobis_matrix())


def bounds_ratio(problem, answers):
    """Compare what both make of the constraints: mean distances of the two kinds of pairs."""
    _, pairs, relation, _, _ = problem
    ratios = {}
    for name, Z in answers.items():
        squared = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
        ratios[name] = squared[relation == 1].mean() / squared[relation == -1].mean()
    ours, *theirs = ratios.values()
    assert all(ours <= other for other in theirs)
    listed = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    return f"squared distances within classes over those between: {listed}."


def regression():
    A, y, _ = make_fixed_rank_targets(2000, 100, 5, random_state=0)
    G = FixedRankPSDRegressor(5, "flat").fit(A[:50], y[:50]).components_
    return A, y, G


def ours(problem):
    A, y, G = problem
    return FixedRankPSDRegressor(5, "flat", tol=1e-12, max_iter=5000, init=G).fit(A, y).components_


def pymanopt_solver(problem):
    import pymanopt

    A, y, G = problem
    manifold = pymanopt.manifolds.PSDFixedRank(100, 5)

    @pymanopt.function.numpy(manifold)
    def cost(Y):
        return 0.5 * np.mean((((A @ Y) ** 2).sum(axis=1) - y) ** 2)

    @pymanopt.function.numpy(manifold)
    def gradient(Y):
        P = A @ Y
        return 2 * A.T @ (((P**2).sum(axis=1) - y)[:, None] * P) / len(y)

    solver = pymanopt.optimizers.ConjugateGradient(
        verbosity=0, min_gradient_norm=1e-4, max_iterations=5000
    )
    task = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    return solver.run(task, initial_point=G).point


def same_cost(problem, answers):
    A, y, _ = problem
    costs = [0.5 * np.mean((((A @ G) ** 2).sum(axis=1) - y) ** 2) for G in answers.values()]
    assert costs[0] <= min(costs) + 1e-6
    return f"costs differ by {np.ptp(costs):.1e}."


def ten_thousand_features():
    """Return pairs of 2,000 rows of 10,000 features behind both forms of a stream."""
    rng = np.random.default_rng(0)
    X, G = rng.standard_normal((2000, 10_000)), 0.01 * rng.standard_normal((10_000, 10))
    pairs = rng.integers(0, 1000, (100_000, 2)) + [0, 1000]
    relation = rng.choice([-1, 1], len(pairs))
    rows = PairDifferences(X, pairs)
    return rows, item_pairs(rows), np.where(relation > 0, 15.0, 25.0), relation, G


def one_pass(geometry):
    def solve(problem):
        _, items, y, relation, G = problem
        stream = start_item_stream(G, items.X, geometry, 0.5)
        run_pass(stream, items, y, relation, Schedule(1e-4, 1.0, 100.0, len(y)), 0, 32)
        return stream.squared(items)

    return solve


def finite(problem, answers):
    assert all(np.isfinite(answer).all() for answer in answers.values())
    return "The Gram matrix of the rows, which the first pass needs, is not counted."


CONTESTS = [
    Contest(
        name="pass",
        problem="one pass over 100,000 pairs of 2,000 rows, d = 10,000, r = 10, batches of 32",
        setup=ten_thousand_features,
        solvers={"octavo, flat": one_pass("flat"), "octavo, polar": one_pass("polar")},
        agree=finite,
        repeats=1,
        target="Aim: 2 s.",
        limit="memory bandwidth: rows of 10,000 numbers",
    ),
    Contest(
        name="itml",
        problem="a distance from 2,000 pairs of 1,500 rows, d = 617; rank 10 to 1e-5, ITML ten "
        "sweeps",
        setup=speech_sized,
        solvers={"octavo, rank 10": low_rank, "metric-learn ITML": itml},
        agree=bounds_ratio,
        repeats=2,
        target="at least 10 times",
        limit="BLAS: products of the pairs with ten directions, a step",
    ),
    Contest(
        name="pymanopt",
        problem="W of rank 5 to the same cost, n = 2,000, d = 100",
        setup=regression,
        solvers={"octavo": ours, "pymanopt, conjugate gradients": pymanopt_solver},
        agree=same_cost,
        repeats=3,
        limit="BLAS: products with five directions, a step",
    ),
]
