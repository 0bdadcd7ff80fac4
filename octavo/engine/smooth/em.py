"""EM and variational EM: climb an objective until it hardly rises, from one start or several.

A method brings two functions of its parameters, any object whatever:

- ``expect(params) -> (objective, expectations)``: the E-step and the objective it makes tight;
- ``maximize(params, expectations) -> params``: the M-step.

`climb` alternates them, keeps the trace of the objective and checks that it never falls, which
is the certificate of EM; `best_of` keeps the best of several climbs; `warn_unless_converged`
tells the user the last relative rise where ``max_iter`` came first::

    with FitProgress(self, n_init * max_iter, X) as progress:
        run = best_of(
            climb(expect, maximize, start(rng), max_iter=max_iter, tol=tol, progress=progress)
            for _ in range(n_init)
        )
    warn_unless_converged(run, self, max_iter=max_iter, tol=tol)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

NOTHING = 1e-12  # an objective that is zero but for rounding
SLACK = 1e-9  # relative fall that rounding may cause


class Steps(Protocol):
    """What counts steps and may ask to stop: a `FitProgress`."""

    def step(self) -> bool:
        """Report a finished step; return whether to stop."""
        ...


class Restarts(NamedTuple):
    """How often to start, and when a climb from one start ends."""

    n_init: int
    max_iter: int
    tol: float


class Climb(NamedTuple):
    """Where a climb ended.

    ``params`` with the ``expectations`` and the ``objective`` that belong to them; ``trace``, the
    objective at the start and after each of ``n_iter`` iterations; whether the last rise was
    below ``tol``; whether a callback ``stopped`` it; and the largest ``fall`` of the objective,
    zero but for rounding.
    """

    params: Any
    expectations: Any
    objective: float
    trace: NDArray[np.float64]
    n_iter: int
    converged: bool
    stopped: bool
    fall: float

    @property
    def rise(self) -> float:
        """The last rise of the objective, relative to its size."""
        if self.n_iter == 0:
            return np.inf
        return _relative(self.trace[-1] - self.trace[-2], self.trace[-1])


def _relative(change: float, value: float) -> float:
    if not np.isfinite(value) or not np.isfinite(change):
        return np.inf
    return change / abs(value) if value else (np.inf if change else 0.0)


def climb(
    expect: Callable[[Any], tuple[float, Any]],
    maximize: Callable[[Any, Any], Any],
    params: Any,
    *,
    max_iter: int,
    tol: float,
    progress: Steps | None = None,
    monotone: bool = True,
) -> Climb:
    """Alternate E-steps and M-steps until the objective rises by less than tol, relatively.

    Parameters
    ----------
    expect, maximize : callable
        The two steps; see the module.
    params : object
        Where to start.
    max_iter : int
        The largest number of M-steps.
    tol : float
        Stop when the rise is at most ``tol * abs(objective)``.
    progress : FitProgress, optional
        Stepped once an iteration.
    monotone : bool, default=True
        Whether theory says that the objective cannot fall. Where it falls by more than rounding
        all the same, the climb ends at the better parameters with a warning; otherwise it goes
        on.

    Returns
    -------
    climb : Climb
        Where it ended.
    """
    objective, expectations = expect(params)
    trace = [float(objective)]
    converged = stopped = False
    fall = 0.0
    while len(trace) <= max_iter and not (converged or stopped):
        trial = maximize(params, expectations)
        value, found = expect(trial)
        if np.isnan(value):
            raise FloatingPointError(f"The objective became NaN in iteration {len(trace)}.")
        rise = value - objective
        fall = max(fall, -rise) if np.isfinite(rise) else fall
        if monotone and rise < -SLACK * max(1.0, abs(objective)):
            warnings.warn(
                f"The objective fell by {-rise:.3g} from {objective:.10g} in iteration "
                f"{len(trace)}, which EM cannot do: stopped before it. Badly scaled input?",
                ConvergenceWarning,
                stacklevel=2,
            )
            break
        nothing = max(abs(value), abs(objective)) < NOTHING
        params, objective, expectations = trial, value, found
        trace.append(float(value))
        converged = nothing or abs(_relative(rise, value)) <= tol
        stopped = progress is not None and progress.step()
    history = np.array(trace)
    return Climb(
        params, expectations, trace[-1], history, history.size - 1, converged, stopped, fall
    )


def best_of(climbs: Iterable[Climb]) -> Climb:
    """Return the climb of largest objective; one that a callback stopped is the last.

    Parameters
    ----------
    climbs : iterable of Climb
        Made as they are asked for, one a restart.

    Returns
    -------
    best : Climb
        The first of the best.
    """
    best: Climb | None = None
    for one in climbs:
        if best is None or one.objective > best.objective:
            best = one
        if one.stopped:
            break
    if best is None:
        raise ValueError("There must be at least one start.")
    return best


def surviving(one: Callable[[], Climb], n_init: int, error: type[Exception]) -> Iterator[Climb]:
    """Yield climbs, leaving out those that end in an error unless all do.

    Parameters
    ----------
    one : callable
        Makes a climb from a new start.
    n_init : int
        How many.
    error : type
        What a start may raise that leads nowhere, such as a likelihood without a maximum.

    Yields
    ------
    climb : Climb
        For `best_of`.
    """
    failed = None
    done = 0
    for _ in range(n_init):
        try:
            run = one()
        except error as problem:
            failed = problem
            continue
        done += 1
        yield run
    if failed is not None and not done:
        raise failed


def spread_seeds(
    n_seeds: int,
    weights: NDArray[np.float64],
    start: Callable[[int], tuple[Any, NDArray[np.float64]]],
    rng: np.random.RandomState,
) -> list[Any]:
    """Return first components by greedy k-means++: each where the ones before explain least.

    Parameters
    ----------
    n_seeds : int
        How many.
    weights : ndarray of shape (n,)
        Weights of the n things to be explained, adding up to one.
    start : callable
        ``start(i) -> (component, lack)``: a first component from thing i, and how much worse than
        best it explains each of the n; not negative.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    components : list
        One a seed. The first is drawn by weight, each next one is the best of a few that are
        drawn by weight times what is still lacking.
    """
    n = weights.size
    trials = 1 + int(np.log(n_seeds)) + (n_seeds > 1)  # as many candidates as in greedy k-means++
    chosen: list[Any] = []
    lack = np.ones(n)
    for k in range(n_seeds):
        chance = weights * lack
        chance = chance / chance.sum() if chance.sum() > 0 else weights
        best: tuple[float, Any, NDArray[np.float64]] | None = None
        for i in rng.choice(n, size=1 if k == 0 else trials, p=chance):
            component, far = start(int(i))
            far = np.where(np.isfinite(far), far, 1e300 / n)
            left = far if k == 0 else np.minimum(lack, far)
            cost = float(weights @ left)
            if best is None or cost < best[0]:
                best = cost, component, left
        assert best is not None
        chosen.append(best[1])
        lack = best[2]
    return chosen


def warn_unless_converged(run: Climb, estimator: Any, *, max_iter: int, tol: float) -> None:
    """Warn with the last relative rise where max_iter ended the climb.

    Parameters
    ----------
    run : Climb
        What `climb` or `best_of` returned.
    estimator : object
        Its class is named in the message.
    max_iter, tol : int, float
        The limits that were set.
    """
    if run.converged or run.stopped:
        return
    warnings.warn(
        f"{type(estimator).__name__} did not converge in {run.n_iter} iterations: the objective "
        f"still rose by {run.rise:.3g}, relatively (tol={tol:g}). Raise max_iter={max_iter} or "
        "tol.",
        ConvergenceWarning,
        stacklevel=3,
    )
