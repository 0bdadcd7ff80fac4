"""Posteriors whose features are few by kind: L1/L∞ posterior regularisation for any model.

Features φ are indicators, grouped by kind. Among all distributions q over the hidden variables the
one is sought that is near the posterior p and uses few kinds at all:

    min_q KL(q ‖ p) + σ Σ_g max_{i in g} E_q[φ_i],

whose dual has one non-negative number for each feature, with sums of at most σ over groups. All
that a model must offer is log E_p[exp(-λ·φ)] with its gradient, the sums that it does anyway.

Reference: J. Gillenwater, K. Ganchev, J. Graça, F. Pereira and B. Taskar (2011), "Posterior
Sparsity in Unsupervised Dependency Parsing", Journal of Machine Learning Research 12: Section 4,
Eq. (7); the steps are spectral projected gradients (E. G. Birgin, J. M. Martínez and M. Raydan,
2000).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, validate_parameter_constraints
from octavo.engine.projections.group_balls import (
    Groups,
    group_entries,
    largest_of_groups,
    project_group_balls,
)

__all__ = ["L1LinfPosteriorRegularizer", "PosteriorProjection"]

MEMORY = 8  # a step may rise above the last value, not above the largest of so many
LEAST_STEP, MOST_STEP = 1e-10, 1e6
ROUNDING, PATIENCE = 1e-14, 30


class PosteriorProjection(NamedTuple):
    """A regularised posterior.

    ``lam`` are the dual numbers, one for each feature; ``value`` is the regularised KL divergence,
    at most ``gap`` above its least possible value; ``expectations`` are E_q[φ]; ``n_iter`` counts
    calls of ``log_partition``, whose further results at ``lam`` are in ``rest``; ``last`` is where
    the steps ended, which need not be the best point.
    """

    lam: Floats
    value: float
    gap: float
    expectations: Floats
    n_iter: int
    last: Floats
    rest: tuple[Any, ...] = ()


class _Point(NamedTuple):
    lam: Floats
    objective: float  # log E_p[exp(-lam φ)], to be minimised
    expectations: Floats
    gap: float
    rest: tuple[Any, ...]

    @property
    def primal(self) -> float:
        return self.gap - self.objective


def _evaluated(
    log_partition: Callable[[Floats], Any], lam: Floats, groups: Groups, sigma: float
) -> _Point:
    answer = log_partition(lam)
    if not isinstance(answer, (tuple, list)) or len(answer) < 2:
        raise ValueError(
            "The function log_partition must return log E_p[exp(-lam φ)] and E_q[φ], got "
            f"{answer!r}."
        )
    objective, expectations, *rest = answer
    expectations = np.asarray(expectations, dtype=np.float64)
    if expectations.shape != lam.shape:
        raise ValueError(
            f"The function log_partition must return one expectation for each of {lam.size} "
            f"features, got an array of shape {expectations.shape}."
        )
    if not np.isfinite(objective) or not np.isfinite(expectations).all():
        raise ValueError(
            "The function log_partition returned a number that is not finite; p must give every "
            "weighting exp(-lam φ) a positive mean."
        )
    # KL(q‖p) = -λ·E_q[φ] - log E_p[exp(-λ·φ)], so that primal less dual is this
    largest = float(largest_of_groups(expectations, groups).sum())
    gap = max(sigma * largest - float(lam @ expectations), 0.0)
    return _Point(lam, float(objective), expectations, gap, tuple(rest))


def project_posterior(
    log_partition: Callable[[Floats], Any],
    groups: Groups,
    sigma: float,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
) -> PosteriorProjection:
    """Return the regularised posterior by spectral projected gradient steps on the dual.

    Parameters
    ----------
    log_partition : callable
        ``log_partition(lam)`` returns log E_p[exp(-lam·φ)], E_q[φ] and whatever is to be kept.
    groups : Groups
        Features by kind.
    sigma : float
        Strength of the penalty.
    start : ndarray of shape (n_features,)
        Where to start; need not be feasible.
    tol : float
        Duality gap to stop at, relative to the value where that is above one.
    max_iter : int
        Most calls of ``log_partition``.

    Returns
    -------
    PosteriorProjection
        The point of least primal value among those visited.
    """

    def feasible(lam: Floats) -> Floats:
        # each group's multipliers: not negative, sum at most σ
        return project_group_balls(lam, groups, sigma)

    here = _evaluated(log_partition, feasible(start), groups, sigma)
    best, least = here, here.objective
    values, calls, step = [here.objective], 1, 0.0
    known, waited = best, 0
    # best primal against best dual, which may be of different points
    while best.primal + least > tol * max(1.0, abs(best.primal)) and calls < max_iter:
        if not step:
            # the dual's gradient in λ is -E_q[φ]
            move = feasible(here.lam + here.expectations) - here.lam
            step = 1.0 / max(float(np.abs(move).max(initial=0.0)), LEAST_STEP)
        toward = feasible(here.lam + step * here.expectations) - here.lam
        slope = -float(toward @ here.expectations)
        # The gap falls with the distance from the optimum and the objective with its square: where
        # rounding hides what a step gains, the step is taken for as long as the gap still falls.
        hidden = slope > -ROUNDING * (abs(here.objective) + float(np.abs(toward).sum()))
        waited = waited + 1 if hidden and best is known else 0
        if waited > PATIENCE:
            break
        known, share, top = best, 1.0, max(values[-MEMORY:])
        while True:
            there = _evaluated(log_partition, here.lam + share * toward, groups, sigma)
            calls += 1
            best = min(best, there, key=lambda point: point.primal)
            least = min(least, there.objective)
            if hidden or there.objective <= top + 1e-4 * share * slope + 1e-13 * abs(top):
                break
            if calls >= max_iter or share < 1e-12:
                break
            share = _shorter(share, slope, there.objective - here.objective)
        moved = there.lam - here.lam
        bend = float(moved @ (here.expectations - there.expectations))
        length = float(moved @ moved)
        step = MOST_STEP if bend <= 0.0 else length / bend  # Barzilai and Borwein's step
        step = min(max(step, LEAST_STEP), MOST_STEP)
        if length == 0.0:
            break
        here = there
        values.append(here.objective)
    gap = max(best.primal + least, 0.0)
    return PosteriorProjection(
        best.lam, best.primal, gap, best.expectations, calls, here.lam, best.rest
    )


def _shorter(share: float, slope: float, rise: float) -> float:
    """Return where a parabola through the step's ends is least, within a tenth and a half."""
    bend = 2.0 * (rise - share * slope)
    least = -slope * share * share / bend if bend > 0.0 else 0.5 * share
    return min(max(least, 0.1 * share), 0.5 * share)


class L1LinfPosteriorRegularizer:
    """Make posteriors sparse in kinds of features, for any model that can reweight its posterior.

    Parameters
    ----------
    sigma : float
        Strength: the price of a kind of feature that is used with certainty somewhere.
    tol : float, default=1e-6
        Duality gap to stop at, relative to the value where that is above one.
    max_iter : int, default=500
        Most calls of ``log_partition``.

    See Also
    --------
    DMV : Grammars with sparse kinds of dependencies.
    SparseTagHMM : Hidden Markov models in which a word has few tags.

    Notes
    -----
    Not for sparse parameters: a Dirichlet prior does that more cheaply, as in
    ``DMV(learning="sdp")``. The penalty reads posteriors of all tokens at once.

    References
    ----------
    .. [1] J. Gillenwater, K. Ganchev, J. Graça, F. Pereira and B. Taskar (2011). Posterior Sparsity
       in Unsupervised Dependency Parsing. Journal of Machine Learning Research 12.

    Examples
    --------
    Three coins, of which two are of one kind:

    >>> import numpy as np
    >>> from octavo.structured import L1LinfPosteriorRegularizer
    >>> chance = np.array([0.9, 0.6, 0.5])
    >>> def log_partition(lam):
    ...     weight = chance * np.exp(-lam)
    ...     total = 1 - chance + weight
    ...     return np.log(total).sum(), weight / total
    >>> found = L1LinfPosteriorRegularizer(sigma=1.0).project(log_partition, [0, 0, 1])
    >>> found.expectations.round(3).tolist(), round(found.value, 3)
    ([0.768, 0.6, 0.269], 1.221)
    """

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, sigma: float, tol: float = 1e-6, max_iter: int = 500) -> None:
        self.sigma = sigma
        self.tol = tol
        self.max_iter = max_iter

    def __repr__(self) -> str:
        return (
            f"L1LinfPosteriorRegularizer(sigma={self.sigma}, tol={self.tol}, "
            f"max_iter={self.max_iter})"
        )

    def _checked(self, log_partition: Any, groups: Any) -> Groups:
        given = {name: getattr(self, name) for name in self._parameter_constraints}
        validate_parameter_constraints(
            self._parameter_constraints, given, caller_name=type(self).__name__
        )
        if not callable(log_partition):
            raise TypeError(
                "Expected a function log_partition(lam) that returns log E_p[exp(-lam φ)] and "
                f"E_q[φ], got {log_partition!r}."
            )
        numbers = np.asarray(groups)
        if numbers.size == 0 or (numbers.dtype.kind in "iu" and numbers.min() < 0):
            raise ValueError("Groups must number at least one feature, from zero on.")
        return group_entries(numbers)

    def project(self, log_partition: Callable[[Floats], Any], groups: Any) -> PosteriorProjection:
        """Return the posterior nearest to p under the penalty.

        Parameters
        ----------
        log_partition : callable
            ``log_partition(lam)`` returns log E_p[exp(-lam·φ)] and E_q[φ] under the distribution
            q proportional to p exp(-lam·φ).
        groups : array-like of int of shape (n_features,)
            The kind of each feature.

        Returns
        -------
        PosteriorProjection
            With ``lam``, ``value`` and ``gap``.
        """
        kinds = self._checked(log_partition, groups)
        return self._solve(log_partition, kinds, float(self.sigma), np.zeros(kinds.order.size))

    def _solve(
        self, log_partition: Callable[[Floats], Any], kinds: Groups, sigma: float, start: Floats
    ) -> PosteriorProjection:
        found = project_posterior(
            log_partition, kinds, sigma, start, tol=self.tol, max_iter=self.max_iter
        )
        if found.gap > self.tol * max(1.0, abs(found.value)):
            warnings.warn(
                f"L1LinfPosteriorRegularizer stopped after {found.n_iter} calls at a duality gap "
                f"of {found.gap:.3g} (value {found.value:.6g}, tol={self.tol:g}). Raise "
                f"max_iter={self.max_iter} or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def constrain(
        self, log_partition: Callable[[Floats], Any], groups: Any, bound: float
    ) -> PosteriorProjection:
        """Return the posterior nearest to p whose maxima of groups add up to at most a bound.

        The constraint form of the problem; ``sigma`` is not used but found, by bisection.

        Parameters
        ----------
        log_partition : callable
            As in `project`.
        groups : array-like of int of shape (n_features,)
            The kind of each feature.
        bound : float
            The largest sum over groups of max E_q[φ], positive.

        Returns
        -------
        PosteriorProjection
            ``value`` is the KL divergence without a penalty.
        """
        kinds = self._checked(log_partition, groups)
        if not (isinstance(bound, Real) and np.isfinite(bound) and bound > 0):
            raise ValueError(f"Expected a positive bound, got {bound!r}.")

        def used(found: PosteriorProjection) -> float:
            return float(largest_of_groups(found.expectations, kinds).sum())

        low, high = 0.0, 1.0  # Σ ξ falls with σ: bisect σ until it meets the bound
        best = self._solve(log_partition, kinds, 0.0, np.zeros(kinds.order.size))
        if used(best) <= bound:
            return best
        best = self._solve(log_partition, kinds, high, best.lam)
        while used(best) > bound:
            low, high = high, 2.0 * high
            if high > 1e9:
                raise ValueError(
                    f"No posterior reaches the bound {bound:g}: the maxima still add up to "
                    f"{used(best):g}. Raise it."
                )
            best = self._solve(log_partition, kinds, high, best.lam)
        while high - low > 1e-9 * max(high, 1.0):
            middle = 0.5 * (low + high)
            found = self._solve(log_partition, kinds, middle, best.lam)
            if used(found) > bound:
                low = middle
            else:
                high, best = middle, found
        return best._replace(value=best.value - high * used(best))  # KL alone, at the bound
