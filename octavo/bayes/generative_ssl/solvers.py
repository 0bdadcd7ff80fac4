"""Climb an objective from several starts: L-BFGS-B, EM, or extended Baum-Welch steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from octavo.bayes.generative_ssl.objectives import Goal, evaluate
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.em import Steps, climb

START_ITERATIONS = 100  # of EM towards a start
RANDOM_ROWS = 3  # of each class of a random start
_BETTER = 1e-10  # relative: a later start must be better by more than rounding


class Ascent(NamedTuple):
    """Where a climb ended; ``trace`` is the objective less the penalty at each iteration."""

    theta: Floats
    value: float
    trace: list[float]
    converged: bool
    stopped: bool


class Limits(NamedTuple):
    """When a climb ends, and what is told of it."""

    max_iter: int
    tol: float
    progress: Steps | None


def penalized(model: Any, goal: Goal, X: Any, theta: Floats) -> tuple[float, Floats]:
    """Return J less the penalty, and its gradient."""
    value, W = evaluate(goal, model.log_joint(theta, X))
    price, slope = model.penalty(theta)
    # ∂J = Σ W ∂q - ∂penalty
    return value - price, model.gradient(theta, model.sums(theta, X, W)) - slope


def by_lbfgs(model: Any, goal: Goal, X: Any, theta: Floats, limits: Limits) -> Ascent:
    """Climb by L-BFGS-B with the exact gradient, in units of a labelled row."""
    size = max(1, len(goal.codes))
    bounds = model.bounds()
    trace: list[float] = []
    state = {"stopped": False}

    def descend(point: Floats) -> tuple[float, Floats]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, slope = penalized(model, goal, X, point)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return 1e300, np.zeros_like(point)
        return -value / size, -slope / size

    def watch(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun) * size)
        if limits.progress is not None and limits.progress.step():
            state["stopped"] = True
            raise StopIteration

    first = -descend(theta)[0] * size
    found = minimize(
        descend,
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=watch,
        options={
            "maxiter": limits.max_iter,
            "maxfun": 20 * limits.max_iter,
            "gtol": limits.tol,
            "ftol": 1e-15,
            "maxls": 40,
            "maxcor": 20,
        },
    )
    slope = np.asarray(found.jac)
    if bounds is not None:
        low, high = np.array(bounds, dtype=np.float64).T
        slope = found.x - np.clip(found.x - slope, low, high)  # the slope that the box lets act
    converged = bool(found.success) or float(np.abs(slope).max()) <= 100.0 * limits.tol
    value = -float(found.fun) * size
    return Ascent(found.x, value, [first, *trace], converged, state["stopped"])


def by_em(model: Any, goal: Goal, X: Any, theta: Floats, limits: Limits) -> Ascent:
    """Climb by EM; for objectives whose weights are never negative."""

    def expect(point: Floats) -> tuple[float, Any]:
        value, W = evaluate(goal, model.log_joint(point, X))
        return value - model.penalty(point)[0], model.sums(point, X, W)

    run = climb(
        expect,
        lambda point, sums: model.maximum(sums),
        theta,
        max_iter=limits.max_iter,
        tol=limits.tol,
        progress=limits.progress,
        monotone=False,
    )
    best = Ascent(run.params, run.objective, run.trace.tolist(), run.converged, run.stopped)
    return best


def by_ebw(model: Any, goal: Goal, X: Any, theta: Floats, limits: Limits) -> Ascent:
    """Climb by extended Baum-Welch steps: D times the model's own sums keep all masses positive.

    D doubles until the objective rises, so no step goes down.
    """
    value, W = evaluate(goal, model.log_joint(theta, X))
    value -= model.penalty(theta)[0]
    trace, converged, stopped = [value], False, False
    weight = float(len(goal.codes))
    while len(trace) <= limits.max_iter and not (converged or stopped):
        sums, own = model.sums(theta, X, W), model.expected(theta)
        for _ in range(60):
            # the own sums' gradient at θ is zero: they shorten the step and do not turn it
            mixed = sums.plus(own, weight)
            if (mixed.mass > 0).all():
                trial = model.maximum(mixed)
                now, weights = evaluate(goal, model.log_joint(trial, X))
                now -= model.penalty(trial)[0]
                if now >= value:
                    break
            weight *= 2.0
        else:
            converged = True  # no step of any length rises: a stationary point, to rounding
            break
        converged = now - value <= limits.tol * max(abs(now), 1e-300)
        theta, value, W = trial, now, weights
        trace.append(value)
        weight = max(0.5 * weight, 1e-3)
        stopped = limits.progress is not None and limits.progress.step()
    return Ascent(theta, value, trace, converged, stopped)


SOLVERS = {"lbfgs": by_lbfgs, "em": by_em, "ebw": by_ebw}


def _onehot(goal: Goal, n_rows: int, n_classes: int, rng: np.random.RandomState) -> Floats:
    """Return weights of the labelled rows; a class without any gets a few unlabelled ones."""
    W = np.zeros((n_rows, n_classes))
    W[np.arange(len(goal.codes)), goal.codes] = goal.balance
    empty = np.flatnonzero(W.sum(axis=0) == 0)
    for k in empty:
        W[rng.randint(len(goal.codes), n_rows, max(2, n_rows // 20)), k] = 1.0
    return W


def supervised_start(
    model: Any, goal: Goal, X: Any, rng: np.random.RandomState, limits: Limits
) -> Floats:
    """Return the fit to the labelled rows alone, Eq. (1)."""
    n = len(goal.codes)
    W = _onehot(goal, X.shape[0], model.n_classes, rng)
    theta = model.start(X, W, rng)
    if not model.hidden or (W[:n].sum(axis=0) == 0).any():
        return theta
    alone = goal._replace(
        labelled_weight=1.0, unlabelled_weight=0.0, entropy_weight=0.0, expectation_weight=0.0
    )
    silent = Limits(limits.max_iter, limits.tol, None)
    solve = by_em if getattr(model, "has_maximum", True) else by_lbfgs
    return solve(model, alone, X[:n], theta, silent).theta


def widened_start(model: Any, goal: Goal, X: Any, rng: np.random.RandomState) -> Floats:
    """Return the labelled rows with one row's worth of all rows added to each class.

    A class of one labelled row is a spike, from which no local search leaves; this start is wide.
    """
    W = _onehot(goal, X.shape[0], model.n_classes, rng)
    return model.start(X, W + 1.0 / X.shape[0], rng)


def random_start(model: Any, goal: Goal, X: Any, rng: np.random.RandomState) -> Floats:
    """Return parameters in which each class is a few rows drawn at random, and wide.

    Many rows would all have the same moments, and classes that are equal stay so.
    """
    n_rows = X.shape[0]
    W = np.full((n_rows, model.n_classes), 1.0 / n_rows)
    for k in range(model.n_classes):
        W[rng.randint(0, n_rows, RANDOM_ROWS), k] = 1.0
    return model.start(X, W, rng)


def starts(
    model: Any, goal: Goal, X: Any, n_init: int, rng: np.random.RandomState, limits: Limits
) -> Iterator[Floats]:
    """Yield the supervised fit, a wider one, the maximum-likelihood fit, and random starts."""
    yield supervised_start(model, goal, X, rng, limits)
    if not model.hidden and goal.unlabelled_weight == 0.0:
        return  # the supervised fit is the closed form
    theta = widened_start(model, goal, X, rng)
    yield theta
    has_maximum = getattr(model, "has_maximum", True)
    if has_maximum and X.shape[0] > len(goal.codes):
        likelihood = goal._replace(
            labelled_weight=1.0, unlabelled_weight=1.0, entropy_weight=0.0, expectation_weight=0.0
        )
        yield by_em(model, likelihood, X, theta, Limits(START_ITERATIONS, 1e-7, None)).theta
    for _ in range(n_init):
        yield random_start(model, goal, X, rng)


def best_ascent(
    model: Any,
    goal: Goal,
    X: Any,
    solver: str,
    n_init: int,
    rng: np.random.RandomState,
    limits: Limits,
) -> Ascent:
    """Climb from every start and return the best, an earlier start where they tie."""
    best: Ascent | None = None
    for theta in starts(model, goal, X, n_init, rng, limits):
        begin = model.opened(theta) if solver == "lbfgs" else theta
        one = SOLVERS[solver](model, goal, X, begin, limits)
        if begin is not theta:  # the floor itself may be the optimum
            value, _ = evaluate(goal, model.log_joint(theta, X))
            value -= model.penalty(theta)[0]
            if value > one.value:
                one = one._replace(theta=theta, value=value, trace=[*one.trace, value])
        gain = np.inf if best is None else one.value - best.value
        if best is None or gain > _BETTER * max(1.0, abs(best.value)):
            best = one._replace(stopped=one.stopped)
        if one.stopped:
            return best._replace(stopped=True)
    assert best is not None
    return best
