"""Online steps are the paper's formulas, and a stream ends near the batch solution."""

import numpy as np
import pytest
from scipy.linalg import expm

from octavo.engine.linalg.pair_differences import PairDifferences, TableRows
from octavo.engine.manifolds.fixed_rank import PolarPoint
from octavo.metric import FixedRankPSDRegressor, LowRankMahalanobis, OnlineFixedRankPSD
from octavo.metric.fixed_rank.item_streams import fits_items, item_pairs, start_item_stream
from octavo.metric.fixed_rank.streams import (
    FlatStream,
    PolarStream,
    Schedule,
    run_pass,
    start_stream,
)


def toy(seed=0, n=4000, d=8, r=3):
    rng = np.random.default_rng(seed)
    A, G = rng.standard_normal((n, d)), rng.standard_normal((d, r))
    return A, ((A @ G) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(n))


def test_one_flat_step_is_equation_9():
    rng = np.random.default_rng(0)
    G, a, y = rng.standard_normal((5, 2)), rng.standard_normal(5), 1.3
    stream = FlatStream(G)
    stream.aim(TableRows(a[None]), np.array([y]), None)
    stream.move(0.01)
    e = a @ G @ G.T @ a - y
    np.testing.assert_allclose(stream.G, G - 2 * 0.01 * e * np.outer(a, a) @ G, rtol=1e-12)


def test_one_polar_step_is_equation_20_with_a_symmetric_root():
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    R = rng.standard_normal((2, 2))
    R = R @ R.T  # symmetric, as the paper has it before the first step
    a, y, lam, s = rng.standard_normal(5), 1.3, 0.3, 0.02
    stream = PolarStream(PolarPoint(U, R), lam)
    stream.aim(TableRows(a[None]), np.array([y]), None)
    stream.move(s)
    e = a @ U @ R @ R @ U.T @ a - y
    X = np.outer(a, a)
    moved = U - 2 * lam * s * e * (np.eye(5) - U @ U.T) @ X @ U @ R @ R
    Q, T = np.linalg.qr(moved)
    np.testing.assert_allclose(stream.U, Q * np.sign(np.diagonal(T)), rtol=1e-10)
    root = R @ expm(-0.5 * (1 - lam) * s * e * R @ U.T @ X @ U @ R)
    np.testing.assert_allclose(stream.R, root, rtol=1e-10)


def test_the_schedule_is_equation_23():
    schedule = Schedule(s=2.0, t0=0.5, unit=4.0, n=100)
    assert schedule.at(0, 9.0) == 0.5
    assert schedule.at(50, 9.0) == 0.25
    assert schedule._replace(safe=True).at(50, 9.0) == pytest.approx(0.25 / 9)


@pytest.mark.parametrize("geometry", ["flat", "polar"])
@pytest.mark.parametrize("schedule", ["annealed", "safe"])
def test_a_stream_ends_near_the_batch_solution(geometry, schedule):
    A, y = toy()
    batch = FixedRankPSDRegressor(3, geometry, tol=1e-9).fit(A, y)
    online = OnlineFixedRankPSD(3, geometry, schedule=schedule, random_state=0).fit(A, y)
    cost = 0.5 * np.mean((online.predict(A) - y) ** 2)
    start = 0.5 * np.mean((y - y.mean()) ** 2)
    assert cost - batch.objective_ < 0.02 * start


def test_blocks_and_bounds():
    A, y = toy(1)
    relation = np.where(np.arange(len(y)) % 2, 1, -1)
    model = OnlineFixedRankPSD(3, random_state=0)
    for block in np.split(np.arange(len(y)), 8):
        model.partial_fit(A[block], y[block] * (1 + 0.2 * relation[block]), relation[block])
    assert model.n_seen_ == len(y)
    bound = y * (1 + 0.2 * relation)
    broken = np.maximum(relation * (model.predict(A) - bound), 0.0)
    identity = np.maximum(relation * ((A**2).sum(axis=1) - bound), 0.0)
    assert np.mean(broken**2) < 0.1 * np.mean(identity**2)


def test_a_first_block_below_the_rank_is_refused():
    A, y = toy(2, n=2)
    with pytest.raises(ValueError, match="n_samples=2"):
        OnlineFixedRankPSD(3).partial_fit(A, y)


def test_a_pass_that_ran_away_is_taken_with_shorter_steps():
    # Bounds far above the first distances: the step chosen on the first rows is too long later.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 300))
    pairs = rng.integers(0, 200, (6000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:5000]
    relation = np.where(rng.random(5000) < 0.5, 1, -1)
    target = np.where(relation > 0, 450.0, 750.0)
    model = LowRankMahalanobis(
        10, "flat", online=True, n_epochs=1, standardize=False, random_state=0
    )
    model.fit_pairs(X, pairs, relation, target)
    nothing = 0.5 * np.mean(np.where(relation < 0, target, 0.0) ** 2)  # of W = 0
    assert model.objective_ < 0.5 * nothing


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_a_block_that_would_blow_up_is_taken_with_shorter_steps(geometry, seed):
    """Steps fitted to the first block are far too long for one whose rows are ten times longer.

    A flat form grows beyond bounds then, and a polar one shrinks to nothing.
    """
    rng = np.random.default_rng(seed)
    A, G = rng.standard_normal((2000, 8)), rng.standard_normal((8, 2))
    model = OnlineFixedRankPSD(2, geometry, random_state=0)
    model.partial_fit(A, ((A @ G) ** 2).sum(axis=1))
    long_rows = 10.0 * rng.standard_normal((2000, 8))
    y = ((long_rows @ G) ** 2).sum(axis=1)
    chosen, known = model.step_, np.mean((model.predict(long_rows) - y) ** 2)
    model.partial_fit(long_rows, y)
    assert model.step_ < chosen
    error = np.mean((model.predict(long_rows) - y) ** 2)
    assert error <= max(2.0 * known, 1e-6 * np.mean(y**2))  # what was known is kept
    assert model.n_seen_ == 4000


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_steps_in_coordinates_of_items_are_the_steps_on_features(geometry):
    rng = np.random.default_rng(0)
    X, G = rng.standard_normal((30, 50)), 0.3 * rng.standard_normal((50, 3))
    pairs = rng.integers(0, 15, (200, 2)) + [0, 15]
    relation, y = rng.choice([-1, 0, 1], 200), rng.uniform(20.0, 80.0, 200)
    rows = PairDifferences(X, pairs)
    assert fits_items(rows)
    schedule = Schedule(0.05, 1.0, 300.0, 200)
    plain, items = (
        start_stream(G, geometry, 0.4),
        start_item_stream(G, X, geometry, 0.4),
    )
    first = plain.factor()
    for t in (0, 200):
        run_pass(plain, rows, y, relation, schedule, t, 8)
        run_pass(items, item_pairs(rows), y, relation, schedule, t, 8)
    assert 1e-2 < np.abs(plain.factor() - first).max() < 10.0
    np.testing.assert_allclose(items.factor(), plain.factor(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(items.squared(item_pairs(rows)), plain.squared(rows), rtol=1e-8)
