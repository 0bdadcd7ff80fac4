"""The driver of EM on a two-coin mixture whose optimum is known, and its certificates."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, xlogy
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.smooth.em import (
    best_of,
    climb,
    spread_seeds,
    surviving,
    warn_unless_converged,
)

HEADS, TOSSES = np.array([9, 8, 1, 2, 7]), 10


def coins_expect(params):
    """Two coins, one drawn for every series of tosses; params are the chances of heads."""
    p = np.asarray(params)
    scores = xlogy(HEADS[:, None], p) + xlogy(TOSSES - HEADS[:, None], 1 - p) - np.log(2)
    total = logsumexp(scores, axis=1)
    return float(total.sum()), np.exp(scores - total[:, None])


def coins_maximize(params, share):
    return share.T @ HEADS / (TOSSES * share.sum(axis=0))


def test_climb_reaches_the_maximum_that_an_optimiser_finds():
    run = climb(coins_expect, coins_maximize, [0.6, 0.5], max_iter=500, tol=1e-14)
    best = minimize(lambda x: -coins_expect(expit(x))[0], [0.5, -0.5], tol=1e-12)
    assert run.converged
    np.testing.assert_allclose(run.objective, -best.fun, rtol=1e-10)
    np.testing.assert_allclose(run.params, expit(best.x), atol=1e-5)


def test_trace_is_monotone_and_belongs_to_the_parameters_returned():
    run = climb(coins_expect, coins_maximize, [0.6, 0.5], max_iter=4, tol=0)
    assert run.trace.size == run.n_iter + 1 == 5
    assert np.all(np.diff(run.trace) >= 0)
    assert run.objective == run.trace[-1] == coins_expect(run.params)[0]
    np.testing.assert_array_equal(run.expectations, coins_expect(run.params)[1])
    assert run.fall == 0.0


def test_tolerance_is_relative_to_the_objective():
    loose = climb(coins_expect, coins_maximize, [0.6, 0.5], max_iter=500, tol=1e-3)
    rises = np.diff(loose.trace) / np.abs(loose.trace[1:])
    assert loose.converged
    assert rises[-1] <= 1e-3
    assert np.all(rises[:-1] > 1e-3)
    np.testing.assert_allclose(loose.rise, rises[-1])


def test_a_falling_objective_stops_the_climb_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"fell by 1 from -2 in iteration 3"):
        run = climb(lambda x: (-abs(x - 2.0) - 2, None), lambda x, _: x + 1, 0.0, max_iter=9, tol=0)
    assert run.params == 2.0
    assert run.fall == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = climb(
            lambda x: (-abs(x - 2.0) - 2, None),
            lambda x, _: x + 1,
            0.0,
            max_iter=4,
            tol=0,
            monotone=False,
        )
    assert free.params == 4.0


def test_nan_is_an_error():
    with pytest.raises(FloatingPointError, match="NaN in iteration 1"):
        climb(lambda x: (np.nan if x else 0.0, None), lambda x, _: 1, 0, max_iter=3, tol=0)


def test_best_of_keeps_the_highest_and_stops_when_asked():
    class Stop:
        def __init__(self):
            self.left = 3

        def step(self):
            self.left -= 1
            return self.left == 0

    stop, made = Stop(), []

    def runs():
        for start in ([0.4, 0.4], [0.9, 0.1], [0.5, 0.6]):
            made.append(start)
            yield climb(coins_expect, coins_maximize, start, max_iter=2, tol=0, progress=stop)

    best = best_of(runs())
    assert len(made) == 2  # the second was stopped
    assert best.stopped
    assert best.objective == max(best.objective, coins_expect([0.4, 0.4])[0])
    with pytest.raises(ValueError, match="at least one start"):
        best_of([])


def test_the_warning_names_estimator_and_certificate():
    run = climb(coins_expect, coins_maximize, [0.6, 0.5], max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=rf"dict did not converge in 2.*{run.rise:.3g}"):
        warn_unless_converged(run, {}, max_iter=2, tol=1e-12)


# --- starts -------------------------------------------------------------------------------------


class Collapsed(ValueError):
    """A start that leads nowhere."""


def test_starts_that_collapse_are_left_out_unless_all_do():
    outcomes = iter([None, 3.0, None, 5.0])

    def one():
        value = next(outcomes)
        if value is None:
            raise Collapsed("no density")
        return climb(lambda x: (x, None), lambda x, _: x, value, max_iter=1, tol=0)

    assert best_of(surviving(one, 4, Collapsed)).objective == 5.0
    outcomes = iter([None, None])
    with pytest.raises(Collapsed, match="no density"):
        best_of(surviving(one, 2, Collapsed))


def test_seeds_are_spread_over_what_is_badly_explained():
    """Three tight groups, three seeds: one in each; nothing of weight zero is ever chosen."""
    points = np.repeat([0.0, 100.0, 1000.0], 4) + np.tile([0.0, 0.1, 0.2, 0.3], 3)
    weights = np.tile([1.0, 1.0, 1.0, 0.0], 3) / 9
    for seed in range(20):
        drawn = []

        def start(i, drawn=drawn):
            drawn.append(i)
            return points[i], (points - points[i]) ** 2

        seeds = spread_seeds(3, weights, start, np.random.RandomState(seed))
        assert sorted(round(s, -1) for s in seeds) == [0.0, 100.0, 1000.0]
        assert not set(drawn) & {3, 7, 11}
    same = spread_seeds(2, np.full(3, 1 / 3), lambda i: (i, np.zeros(3)), np.random.RandomState(0))
    assert len(same) == 2  # nothing is left to explain: seeds by weight
    far = spread_seeds(
        2, np.full(3, 1 / 3), lambda i: (i, np.array([0, np.inf, np.inf])), np.random.RandomState(0)
    )
    assert far[1] in (1, 2)
