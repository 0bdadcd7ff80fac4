"""Hyperplanes with the best guarantee when means and covariances may be wrong.

With unit weights w, the problem of the high-probability machine is to make κ as large as

    h(w, κ) = w·Δ - q₁ - q₀ ≥ 0,    q_j = (a_j + κ²(wᵀΣ_jw + A_j))^½

allows, where Δ is the difference of the class means and a_j, A_j are what the uncertainty of
the moments adds to a class (`MomentUncertainty`). For one direction κ is the root of a quadratic
(`kappa_along`). Three solvers find the direction:

"direct"
    On the unit sphere q_j² = wᵀQ_jw with Q_j = κ²Σ_j + (a_j + κ²A_j)I, so that h is the concave
    function of a minimax machine without any constraint. Bounding each root by its tangent gives
    w ∝ (Q₁/q₁ + Q₀/q₀)⁻¹Δ, a step that never lowers κ. The direction depends on two ratios only;
    secants in these two make the steps converge in a handful.
"alternating"
    Algorithm 1 of the thesis: the largest κ for w, then the best w in the unit ball for κ. (As
    printed, its test for a solution is reversed, and the step in w takes the old κ.)
"socp"
    Bisection on κ with a second-order cone program a step, by cvxpy. Slow; for checking.

With ``norm="l1"`` the weights lie in the unit ball of the l1 norm (Section 3.5), where the bounds
hold as well and most weights are zero. The same tangent steps then minimise a quadratic with the
squared l1 norm in place of the squared Euclidean one, by an active set of features.

Reference: S. Cousins, thesis on moments and multi-label learning (University College London),
Section 3.3: Eq. (3.15), Corollary 8, Algorithm 1; Section 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import brentq

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.svm.minimax.curve import Hyperplane, mean_difference
from octavo.svm.minimax.moment_bounds import MomentUncertainty, largest_uncertainty
from octavo.svm.minimax.moment_space import ClassMoments

__all__ = ["InfeasibleUncertainty", "kappa_along", "robust_hyperplane"]

_STALE = 20  # steps without progress of the gap after which only rounding is left
Watch = Callable[[Floats, float], bool]


class InfeasibleUncertainty(ValueError):
    """No hyperplane guarantees anything: the moments are less certain than they are apart.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import HighProbabilityMPM, InfeasibleUncertainty
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]]), [0, 0, 1, 1]
    >>> try:
    ...     HighProbabilityMPM(uncertainty=1.0).fit(X, y)
    ... except InfeasibleUncertainty as error:
    ...     print(str(error)[:52])
    No hyperplane gives a guarantee at uncertainty nu=1:
    """


class RobustProblem(NamedTuple):
    """Two classes (class 0 before class 1) and what their moments may miss."""

    difference: Floats
    means: tuple[Floats, Floats]
    covs: tuple[Floats, Floats]
    offset: Floats
    inflation: Floats

    def spreads(self, w: Floats) -> tuple[Floats, Floats]:
        """Return Σ_j w, and wᵀΣ_jw."""
        images = np.stack([cov @ w for cov in self.covs])
        return images, np.maximum(images @ w, 0.0)

    def kappa(self, w: Floats, spread: Floats) -> float:
        """Return the largest κ for w."""
        return kappa_along(float(w @ self.difference), spread, self.offset, self.inflation)

    def roots(self, spread: Floats, kappa: float) -> Floats:
        """Return q_j."""
        # 2A_j + κ²(wᵀΣ_jw + A_j), Eq. (3.15); other bounds have another offset than 2A_j
        return np.sqrt(self.offset + kappa**2 * (spread + self.inflation))

    def hyperplane(self, w: Floats, kappa: float, gap: float, n_iter: int) -> Hyperplane:
        """Return the hyperplane of a direction, midway between what both classes ask for."""
        q = self.roots(self.spreads(w)[1], kappa)
        ends = float(w @ self.means[0]) + q[0], float(w @ self.means[1]) - q[1]
        threshold = float(sum(ends)) / 2.0  # Corollary 8: both are the same
        return Hyperplane(w, threshold, (kappa, kappa), gap, n_iter)


@checked
def kappa_along(distance: float, spread: Floats, offset: Floats, inflation: Floats) -> float:
    """Return the largest κ that a direction allows.

    Parameters
    ----------
    distance : float
        Distance of the means along the direction, w·(mean₁ - mean₀).
    spread : ndarray of shape (2,)
        Variances wᵀΣ_jw of classes 0 and 1 along it.
    offset, inflation : ndarray of shape (2,)
        The fields of a `MomentUncertainty`.

    Returns
    -------
    kappa : float
        Where h(w, κ) = 0; zero if there is no such κ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import kappa_along
    >>> none = np.zeros(2)
    >>> float(kappa_along(6.0, np.array([1.0, 4.0]), none, none))  # 6 / (1 + 2)
    2.0
    """
    a0, a1 = (float(a) for a in offset)
    if distance <= math.sqrt(a0) + math.sqrt(a1):  # Corollary 8: no κ > 0
        return 0.0
    b0, b1 = (float(b) for b in spread + inflation)
    c2 = distance**2
    # (b0-b1)²t² + p1 t + p0 = 0 with t = κ²; the smaller root, without a difference of near
    # equals when b0 ≈ b1.
    p0 = (c2 + a0 - a1) ** 2 - 4.0 * c2 * a0
    half = c2 * (b0 + b1) - (a0 - a1) * (b0 - b1)  # -p1/2
    root = c2 * (c2 * b0 * b1 + (b0 - b1) * (a1 * b0 - a0 * b1))  # (p1² - 4 p2 p0)/16
    below = half + 2.0 * math.sqrt(max(root, 0.0))
    return math.sqrt(max(p0, 0.0) / below) if below > 0.0 else math.inf


@checked
def robust_hyperplane(
    zero: ClassMoments,
    one: ClassMoments,
    uncertainty: MomentUncertainty,
    *,
    solver: str = "direct",
    norm: str = "l2",
    tol: float = 1e-8,
    max_iter: int = 500,
    start: Floats | None = None,
    watch: Watch | None = None,
) -> Hyperplane:
    """Return the hyperplane with the best guarantee under uncertain moments.

    Parameters
    ----------
    zero, one : ClassMoments
        Means and covariances as the sample has them.
    uncertainty : MomentUncertainty
        What they may miss; both terms of both classes must be positive.
    solver : {"direct", "alternating", "socp"}, default="direct"
        How the direction is found; see the notes. Only for ``norm="l2"``.
    norm : {"l2", "l1"}, default="l2"
        Norm of the weights, at most one.
    tol : float, default=1e-8
        Largest gap, relative to κ.
    max_iter : int, default=500
        Largest number of steps.
    start : ndarray, default=None
        A direction to start from, such as the solution of a similar problem.
    watch : callable, default=None
        Called with the direction and its κ after each step; returns whether to stop.

    Returns
    -------
    plane : Hyperplane
        With unit weights. ``gap`` bounds the distance to the largest κ from above.

    Notes
    -----
    "direct" takes steps that never lower κ, with secants; "alternating" is the thesis's
    Algorithm 1; "socp" bisects with cvxpy.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, moment_uncertainty, robust_hyperplane
    >>> zero = ClassMoments(np.array([-0.6, 0.0]), np.diag([0.1, 0.02]), 5000)
    >>> one = ClassMoments(np.array([0.6, 0.3]), np.diag([0.1, 0.02]), 5000)
    >>> plane = robust_hyperplane(zero, one, moment_uncertainty([5000, 5000]))
    >>> round(plane.kappas[0], 4), float(np.linalg.norm(plane.coef).round(9))
    (0.7121, 1.0)
    """
    difference = mean_difference(zero, one)
    if not (np.all(uncertainty.offset > 0.0) and np.all(uncertainty.inflation > 0.0)):
        raise ValueError(
            f"Every term of the uncertainty must be positive, got offset {uncertainty.offset} and "
            f"inflation {uncertainty.inflation}; minimax_hyperplane is the machine without."
        )
    solvers = {"direct": _direct, "alternating": _alternating, "socp": _by_cone_programs}
    if norm not in ("l2", "l1") or solver not in solvers:
        raise ValueError(f"Unknown norm {norm!r} or solver {solver!r}.")
    far = np.linalg.norm(difference, 2 if norm == "l2" else np.inf)
    share = largest_uncertainty(float(far), uncertainty)
    if not share > 1.0:
        raise InfeasibleUncertainty(
            f"No hyperplane gives a guarantee: only {share:.4g} of this uncertainty is feasible."
        )
    problem = RobustProblem(
        difference,
        (zero.mean, one.mean),
        (zero.cov, one.cov),
        uncertainty.offset,
        uncertainty.inflation,
    )
    if norm == "l1":
        return _direct(problem, tol, max_iter, start, watch, norm=1)
    return solvers[solver](problem, tol, max_iter, start, watch)


# --- direct -----------------------------------------------------------------------------------


def _first_direction(problem: RobustProblem, start: Floats | None, norm: int = 2) -> Floats:
    """Return the better of the start and the direction with the means farthest apart."""
    w = problem.difference / np.linalg.norm(problem.difference)  # as Algorithm 1 starts
    if norm == 1:
        w = np.where(np.arange(len(w)) == np.abs(w).argmax(), np.sign(w), 0.0)
    if start is not None:
        other = start / np.linalg.norm(start, norm)
        if problem.kappa(other, problem.spreads(other)[1]) > problem.kappa(
            w, problem.spreads(w)[1]
        ):
            return other
    return w


def _ratios(problem: RobustProblem, spread: Floats, kappa: float) -> Floats:
    """Return log of κ²/q_j over the weight of the identity: what decides the next direction."""
    q = problem.roots(spread, kappa)
    ridge = float(((problem.offset + kappa**2 * problem.inflation) / q).sum())
    return np.log(kappa**2 / q / ridge)


def _towards(problem: RobustProblem, ratios: Floats, w: Floats, norm: int) -> Floats:
    """Maximise v·Δ - ½vᵀ(r₀Σ₀ + r₁Σ₁)v - ½‖v‖²; for the l1 norm starting at w."""
    r0, r1 = np.exp(ratios)
    matrix = r0 * problem.covs[0] + r1 * problem.covs[1]
    if norm == 1:
        return _sparse_maximiser(matrix, problem.difference, w)
    matrix[np.diag_indices_from(matrix)] += 1.0
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, problem.difference, check_finite=False)


def _upper_kappa(problem: RobustProblem, kappa: float, excess: float) -> float:
    """Return a κ beyond which w·Δ > (1 + excess)(q₁ + q₀) at `kappa` cannot be made up for.

    The smallest growth of q_j² with κ² is that of a class without spread.
    """
    ratio = float((problem.offset / problem.inflation).max())
    return math.sqrt((1.0 + excess) ** 2 * (ratio + kappa**2) - ratio)


def _direct(
    problem: RobustProblem,
    tol: float,
    max_iter: int,
    start: Floats | None,
    watch: Watch | None,
    norm: int = 2,
) -> Hyperplane:
    """Take tangent steps with secants in the two ratios; stop by the duality gap."""

    def look(v: Floats) -> tuple[Floats, Floats, float]:
        unit = v / np.linalg.norm(v, norm)
        spread = problem.spreads(unit)[1]
        return unit, spread, problem.kappa(unit, spread)

    w, spread, kappa = look(_first_direction(problem, start, norm))
    history: list[tuple[Floats, Floats]] = []  # ratios, and where the tangent step takes them
    least, stale, n_iter = math.inf, 0, 0
    while n_iter < max_iter:
        n_iter += 1
        ratios = _ratios(problem, spread, kappa)
        ahead = _towards(problem, ratios, w, norm)
        # Of first order in the error of w, whichever the norm.
        gap = (
            _ball_gap(problem, w, kappa, 1)
            if norm == 1
            else _gap_of_step(problem, w, ahead, spread, kappa)
        )
        least, stale = (gap, 0) if gap < 0.5 * least else (least, stale + 1)
        w, spread, kappa = look(ahead)  # never worse than before, but for rounding
        if (watch is not None and watch(w, kappa)) or gap <= tol * kappa or stale == _STALE:
            break
        history = [*history[-2:], (ratios, _ratios(problem, spread, kappa))]
        guess = _secant(history)
        if guess is not None:
            leap = look(_towards(problem, guess, w, norm))
            if leap[2] >= kappa * (1.0 - 1e-14):  # at the optimum κ is flat, and w still moves
                w, spread, kappa = leap
    return problem.hyperplane(w, kappa, _ball_gap(problem, w, kappa, norm), n_iter)


def _gap_of_step(
    problem: RobustProblem, w: Floats, ahead: Floats, spread: Floats, kappa: float
) -> float:
    """Return how much larger than `kappa` the optimum may be, from the tangent step at w.

    With e = Δ - (Q₁/q₁ + Q₀/q₀)w, every v has v·Δ ≤ q₁(v) + q₀(v) + e·v, and
    e·v ≤ |e|_(M⁻¹) (q₁(v) + q₀(v)) / min(q₁, q₀)^½ for M = Q₁/q₁ + Q₀/q₀. Since ahead ∝ M⁻¹Δ,
    M⁻¹e needs no further solve.
    """
    q = problem.roots(spread, kappa)
    ridge = float(((problem.offset + kappa**2 * problem.inflation) / q).sum())
    images = problem.spreads(w)[0]
    left = problem.difference - kappa**2 * (images / q[:, None]).sum(axis=0) - ridge * w
    step = ahead / ridge - w  # M⁻¹e
    excess = math.sqrt(max(float(left @ step), 0.0) / float(q.min()))
    return _upper_kappa(problem, kappa, excess) - kappa


def _secant(history: list[tuple[Floats, Floats]]) -> Floats | None:
    """Return where the last secants say that a step leads back to itself."""
    if len(history) < 2:
        return None
    left = np.array([after - before for before, after in history])
    bends = np.diff(left, axis=0).T
    weights = np.linalg.lstsq(bends, left[-1], rcond=1e-10)[0]
    moved = np.diff(np.array([after for _, after in history]), axis=0).T
    guess = history[-1][1] - moved @ weights
    # A ratio that a secant changes a millionfold is no guess.
    return guess if np.abs(guess - history[-1][1]).max() < 14.0 else None


# --- alternating ------------------------------------------------------------------------------


def _alternating(
    problem: RobustProblem, tol: float, max_iter: int, start: Floats | None, watch: Watch | None
) -> Hyperplane:
    """Run Algorithm 1 with exact steps in w."""
    w = _first_direction(problem, start)
    kappa, gap, n_iter = 0.0, math.inf, 0
    while n_iter < max_iter:
        n_iter += 1
        spread = problem.spreads(w)[1]
        kappa = problem.kappa(w, spread)  # h(w, κ′) = 0, in closed form instead of a line search
        gap = _ball_gap(problem, w, kappa, 2)
        if (watch is not None and watch(w, kappa)) or gap <= tol * kappa:
            break
        # at κ′; the listing prints κ
        w = _best_in_ball(problem, w, kappa, tol)
    return problem.hyperplane(w, kappa, gap, n_iter)


def _slope(problem: RobustProblem, w: Floats, kappa: float) -> Floats:
    """Return the gradient of h(·, κ)."""
    images, spread = problem.spreads(w)
    q = problem.roots(spread, kappa)
    return problem.difference - kappa**2 * (images / q[:, None]).sum(axis=0)  # Δ - κ² Σ Σ_jw / q_j


def _ball_gap(problem: RobustProblem, w: Floats, kappa: float, norm: int) -> float:
    """Return how much larger than κ(w) the optimum may be, with w in the unit ball of a norm.

    h is concave, so that h(v, κ) ≤ ∇h·(v - w) for every v, at most the dual norm of ∇h less
    ∇h·w. Each q_j grows with κ at least as fast as that of a class without spread, and is convex
    in κ.
    """
    slope = _slope(problem, w, kappa)
    excess = float(np.linalg.norm(slope, 2 if norm == 2 else np.inf) - slope @ w)
    bare = np.sqrt(problem.offset + kappa**2 * problem.inflation)
    speed = float((kappa * problem.inflation / bare).sum())
    return max(excess, 0.0) / speed if speed > 0.0 else math.inf


def _best_in_ball(problem: RobustProblem, w: Floats, kappa: float, tol: float) -> Floats:
    """Maximise h(·, κ) on the unit ball; each root is bounded by its tangent."""
    for _ in range(100):
        q = problem.roots(problem.spreads(w)[1], kappa)
        curvature = kappa**2 * (problem.covs[0] / q[0] + problem.covs[1] / q[1])
        new = _trust_region(curvature, problem.difference)
        moved = float(np.linalg.norm(new - w))
        w = new
        if moved <= 0.1 * tol:
            break
    return w


def _trust_region(curvature: Floats, slope: Floats) -> Floats:
    """Maximise slope·w - ½wᵀCw over the unit ball."""
    values, vectors = eigh(curvature)
    values = np.maximum(values, 0.0)
    inner = vectors.T @ slope

    def excess(ridge: float) -> float:
        return 1.0 - 1.0 / float(np.linalg.norm(inner / (values + ridge)))

    top = float(np.linalg.norm(slope))  # at this ridge the solution is inside the ball
    low = 1e-14 * top
    ridge = low if excess(low) <= 0.0 else brentq(excess, low, top * (1 + 1e-12), xtol=1e-15)
    return vectors @ (inner / (values + ridge))


# --- cone programs ----------------------------------------------------------------------------


def _by_cone_programs(
    problem: RobustProblem, tol: float, max_iter: int, start: Floats | None, watch: Watch | None
) -> Hyperplane:
    """Bisect on κ: does any w of the unit ball have h(w, κ) ≥ 0?"""
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError(
            'solver="socp" is for checking and needs cvxpy; use solver="direct".'
        ) from error
    w = cp.Variable(len(problem.difference))
    kappa = cp.Parameter(nonneg=True)
    constant = cp.Parameter(2, nonneg=True)
    halves = [
        vectors * np.sqrt(np.maximum(values, 0.0))
        for values, vectors in (eigh(cov) for cov in problem.covs)
    ]
    roots = [
        cp.norm(cp.hstack([kappa * (half.T @ w), constant[j]])) for j, half in enumerate(halves)
    ]
    program = cp.Problem(cp.Maximize(problem.difference @ w - sum(roots)), [cp.norm(w) <= 1])
    best = problem.difference / np.linalg.norm(problem.difference)
    reached = low = problem.kappa(best, problem.spreads(best)[1])
    high = 2.0 * low
    n_iter, bounded = 0, False
    while n_iter < max_iter and high - low > tol * low:
        n_iter += 1
        middle = (low + high) / 2.0 if bounded else high
        kappa.value = middle
        constant.value = np.sqrt(problem.offset + middle**2 * problem.inflation)
        program.solve(solver="CLARABEL")
        found = np.asarray(w.value, dtype=np.float64)
        found = found / np.linalg.norm(found)
        kappa_found = problem.kappa(found, problem.spreads(found)[1])
        if kappa_found > reached:
            best, reached = found, kappa_found
        if program.value > 0.0:
            low = max(middle, reached)
            high = high if bounded else 2.0 * low
        else:
            high, bounded = middle, True
        if watch is not None and watch(best, reached):
            break
    return problem.hyperplane(best, reached, max(high - reached, 0.0), n_iter)


# --- sparse weights ---------------------------------------------------------------------------


def _sparse_maximiser(matrix: Floats, slope: Floats, start: Floats) -> Floats:
    """Maximise slope·v - ½vᵀCv - ½‖v‖₁² by features that enter and leave one at a time.

    With the signs fixed the problem is a linear system. A step towards its solution ends where
    the objective along it is best: at the solution, or where a feature changes its sign and
    leaves.
    """
    # More features may be active than C has rank.
    tiny = 1e-13 * (float(np.trace(matrix)) + len(matrix))
    v = start * max(float(start @ slope), 0.0) / (float(start @ matrix @ start) + 1.0)
    for _ in range(20 * len(v) + 100):
        active = np.flatnonzero(v)
        if active.size:
            signs = np.sign(v[active])
            system = matrix[np.ix_(active, active)] + np.outer(signs, signs)
            system[np.diag_indices_from(system)] += tiny
            target = cho_solve(cho_factor(system, check_finite=False), slope[active])
            if np.any(target * signs <= 0.0):
                v = _best_before_crossing(matrix, slope, v, active, target)
                continue
            v = np.zeros_like(v)
            v[active] = target
        left = slope - matrix @ v
        level = float(np.abs(v).sum())
        left[active] = 0.0
        first = int(np.abs(left).argmax())
        if abs(left[first]) <= level * (1.0 + 1e-13) + 1e-15 * float(np.abs(slope).max()):
            break
        # Enter with a step so short that its sign is right: the best along this coordinate.
        gain = abs(left[first]) - level
        v[first] = np.sign(left[first]) * gain / (matrix[first, first] + 1.0)
    return v


def _best_before_crossing(
    matrix: Floats, slope: Floats, v: Floats, active: NDArray[np.intp], target: Floats
) -> Floats:
    """Return the best of the places towards the target at which a feature becomes zero."""
    here = v[active]
    step = target - here
    crossing = here * target <= 0.0
    places = np.append(here[crossing] / (here[crossing] - target[crossing]), 1.0)
    best, value = v, -math.inf
    for place in np.unique(places):
        u = here + place * step
        u[np.abs(u) <= 1e-15 * np.abs(here).max()] = 0.0
        if place < 1.0:
            u[np.flatnonzero(crossing)[places[:-1] == place]] = 0.0
        cov = matrix[np.ix_(active, active)]
        now = float(u @ slope[active] - 0.5 * u @ cov @ u - 0.5 * np.abs(u).sum() ** 2)
        if now > value:
            value = now
            best = np.zeros_like(v)
            best[active] = u
    return best
