"""The margin with class distances as a saddle point, by extragradient steps with a duality gap.

    min over w, max over μ of  Σ_n Σ_o μ_no [Δ(y_n, o) + (w_o - w_{y_n}).φ_n]

with μ_n in the simplex over all classes (the row's own included, which absorbs max(0, .)) and
either ‖w_o‖ ≤ R for each class, eq. (6), or a penalty (λ/2) Σ ‖w_o‖² and losses averaged, eq. (4).
Steps start again from the mean of their past whenever that has halved the gap, which makes the
slow spiral of a saddle point converge fast; the first steps of w and μ are balanced by the sizes of
their sets.

References: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12, eq. (6) and Appendix A; D. Applegate
et al. (2021), "Practical large-scale linear programming using primal-dual hybrid gradient",
NeurIPS, for the new starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.projections.simplex import project_balls, project_simplex
from octavo.structured.margins.dual_descent import MarginProblem, MarginSolution, close_enough

STEPS = 100  # extragradient steps between two looks at the gap


class SaddleTerms(NamedTuple):
    """What the saddle function is made of: a radius (0: none), a penalty, the weight of losses."""

    problem: MarginProblem
    own: Floats
    prices: Floats
    share: float
    radius: float
    alpha: float


def saddle_terms(problem: MarginProblem, radius: float, alpha: float) -> SaddleTerms:
    """Return the terms of the form with balls (alpha = 0) or with a penalty (radius = 0)."""
    own = np.zeros((len(problem.codes), len(problem.distance)))
    own[np.arange(len(own)), problem.codes] = 1.0
    share = 1.0 if radius > 0.0 else 1.0 / float(problem.row_weights.sum())
    return SaddleTerms(problem, own, problem.distance[problem.codes], share, radius, alpha)


def _pull(terms: SaddleTerms, mu: Floats) -> Floats:
    """Return the derivative by w of the bilinear part, classes x features."""
    weights = (terms.problem.row_weights * terms.share)[:, None]
    # Σ_n (μ_no - 1[o = o_n]) φ_n
    return np.asarray((terms.problem.X.T @ ((mu - terms.own) * weights)).T)


def _losses(terms: SaddleTerms, w: Floats) -> Floats:
    """Return Δ(y_n, o) + (w_o - w_{y_n}).φ_n for all rows and classes."""
    scores = np.asarray(terms.problem.X @ w.T)
    # the entries of Eq. (5), own class included: its entry is zero
    return terms.prices + scores - scores[np.arange(len(scores)), terms.problem.codes][:, None]


def primal_value(terms: SaddleTerms, w: Floats, losses: Floats) -> float:
    """Return the objective of weights."""
    hinge = terms.share * float(terms.problem.row_weights @ losses.max(axis=1))
    return hinge + 0.5 * terms.alpha * float(np.vdot(w, w))


def dual_value(terms: SaddleTerms, mu: Floats, pull: Floats) -> float:
    """Return the least saddle value that any weights reach against μ: a lower bound."""
    weights = terms.problem.row_weights * terms.share
    value = float(np.einsum("n,no,no->", weights, mu, terms.prices))
    if terms.radius > 0.0:
        # min over ‖w_o‖ ≤ R of w·pull, one class each
        return value - terms.radius * float(np.linalg.norm(pull, axis=1).sum())
    return value - 0.5 * float(np.vdot(pull, pull)) / terms.alpha  # min over w with the penalty


def operator_norm(terms: SaddleTerms, random: np.random.RandomState) -> float:
    """Return the largest singular value of w -> losses, rows weighted, by power iteration."""
    w = random.standard_normal((terms.own.shape[1], terms.problem.X.shape[1]))
    size = 0.0
    for _ in range(30):
        w /= max(float(np.linalg.norm(w)), 1e-300)
        scores = np.asarray(terms.problem.X @ w.T)
        scores -= scores[np.arange(len(scores)), terms.problem.codes][:, None]
        scores *= (terms.problem.row_weights * terms.share)[:, None]
        size = float(np.linalg.norm(scores))
        # the adjoint: what each class adds, the own class loses
        back = scores - terms.own * scores.sum(axis=1, keepdims=True)
        back *= (terms.problem.row_weights * terms.share)[:, None]
        w = np.asarray((terms.problem.X.T @ back).T)
    return size


class _Point(NamedTuple):
    w: Floats
    mu: Floats


def _moved(terms: SaddleTerms, base: _Point, at: _Point, step: float, balance: float) -> _Point:
    """Return the projection of base less a step along the field at a point."""
    gradient = _pull(terms, at.mu) + terms.alpha * at.w  # ∇_w of Eq. (6)
    w = base.w - step * balance * gradient
    if terms.radius > 0.0:
        w = project_balls(w, terms.radius)
    weights = (terms.problem.row_weights * terms.share)[:, None]
    # ascent in μ, each row on its simplex
    mu = project_simplex(base.mu + step / balance * weights * _losses(terms, at.w))
    return _Point(w, mu)


class _Best:
    """The best weights and the best lower bound met so far."""

    def __init__(self, terms: SaddleTerms) -> None:
        self.terms = terms
        self.objective, self.bound = np.inf, 0.0
        self.w = np.zeros((terms.own.shape[1], terms.problem.X.shape[1]))

    def look(self, point: _Point) -> float:
        """Take notice of a point; return its own gap."""
        terms, pull = self.terms, _pull(self.terms, point.mu)
        bound = dual_value(terms, point.mu, pull)
        objective = self._tried(point.w)
        # the weights that answer μ best come for free
        if terms.radius > 0.0:
            sizes = np.linalg.norm(pull, axis=1, keepdims=True)
            # w_o = -R pull / ‖pull‖
            self._tried(np.where(sizes > 0, -terms.radius * pull / np.maximum(sizes, 1e-300), 0.0))
        else:
            objective = min(objective, self._tried(-pull / terms.alpha))
        self.bound = max(self.bound, bound)
        return objective - bound

    def _tried(self, w: Floats) -> float:
        value = primal_value(self.terms, w, _losses(self.terms, w))
        if value < self.objective:
            self.objective, self.w = value, w.copy()
        return value

    @property
    def gap(self) -> float:
        return max(self.objective - self.bound, 0.0)


def saddle_margin(
    problem: MarginProblem,
    radius: float,
    alpha: float,
    *,
    max_iter: int,
    tol: float,
    random: np.random.RandomState,
    on_round: Callable[[], bool],
) -> MarginSolution:
    """Take rounds of extragradient steps until the duality gap is closed.

    Parameters
    ----------
    problem : MarginProblem
        The data.
    radius, alpha : float
        R of the balls and λ of the penalty; one of them is 0.
    max_iter : int
        Most rounds of 100 steps.
    tol : float
        Gap to stop at, relative to the objective.
    random : RandomState
        Starts the power iteration for the step.
    on_round : callable
        Called after each round; ends the search by returning True.

    Returns
    -------
    MarginSolution
        The best weights met.
    """
    terms = saddle_terms(problem, radius, alpha)
    norm = 1.05 * operator_norm(terms, random)
    losses: list[float] = []
    gaps: list[float] = []
    best, start = _Best(terms), problem.start * terms.share
    point = _Point(best.w, terms.own.copy())
    balance = max(_spread(terms), 1e-300)
    # step times operator norm below one: extragradient steps contract
    step = 0.9 / max(norm + alpha * balance, 1e-300)
    anchor, last = point, best.look(point)
    mean, taken = point, 0
    for _ in range(max_iter):
        for _ in range(STEPS):
            ahead = _moved(terms, point, point, step, balance)  # the look-ahead
            # from the same point, with the field ahead
            point = _moved(terms, point, ahead, step, balance)
            taken += 1
            # the mean of looked-ahead points, whose gap falls as 1 / t
            mean = _Point(*(m + (a - m) / taken for m, a in zip(mean, ahead)))
        current, averaged = best.look(point), best.look(mean)
        losses.append(best.objective)
        gaps.append(best.gap)
        if on_round() or close_enough(best.objective, best.gap, start, tol):
            break
        if min(current, averaged) <= 0.5 * last or taken >= 40 * STEPS:
            last = min(current, averaged)
            point = mean if averaged < current else point
            balance = _rebalanced(point, anchor, balance)
            step = 0.9 / max(norm + alpha * balance, 1e-300)
            anchor, mean, taken = point, point, 0
    met = close_enough(best.objective, best.gap, start, tol)
    return MarginSolution(best.w, best.objective, best.gap, losses, gaps, met)


def _spread(terms: SaddleTerms) -> float:
    """Return the first guess of how far w moves for each unit of μ."""
    n, n_classes = terms.own.shape
    lengths = np.sqrt(_squares(terms.problem.X))
    size = (
        terms.radius * np.sqrt(n_classes)
        if terms.radius > 0.0
        else 1.0 / max(float(lengths.mean()), 1e-300)
    )
    return float(size / np.sqrt(n))


def _squares(X: Any) -> Floats:
    squared = X.multiply(X) if hasattr(X, "multiply") else X * X
    return np.asarray(squared.sum(axis=1), dtype=np.float64).ravel()


def _rebalanced(point: _Point, anchor: _Point, balance: float) -> float:
    """Return the balance of steps halfway, in logarithms, to that of the way just gone."""
    in_w = float(np.linalg.norm(point.w - anchor.w))
    in_mu = float(np.linalg.norm(point.mu - anchor.mu))
    if in_w <= 1e-12 or in_mu <= 1e-12:
        return balance
    return float(np.sqrt(balance * in_w / in_mu))
