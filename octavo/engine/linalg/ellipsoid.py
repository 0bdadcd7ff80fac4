"""The ellipsoid of least volume around points and their mirror images, with a certificate.

    max_u  log det Ω(u),  Ω(u) = Σ_i u_i p_i p_iᵀ,  u on the simplex

is the dual of minimising -log det L subject to p_iᵀ L p_i ≤ 1, and the D-optimal design problem.
With w_i = p_iᵀ Ω(u)⁻¹ p_i, the matrix L = Ω(u)⁻¹ / max w encloses every point for any u, and its
-log det exceeds the least one by d log(max w / d) at most: that is the duality gap.

Three solvers: Frank-Wolfe with away steps (Todd and Yıldırım 2007), which discards points that
cannot touch the ellipsoid (the bound of Harman and Pronzato 2007) and takes Newton steps where it
creeps; the cutting-plane strategy of Sun and Freund (2004) around it; and the convex program as it
stands, through cvxpy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, qr, solve_triangular, svdvals

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.engine.proximal.nonnegative_least_squares import nonnegative_least_squares

Solver = Callable[..., "tuple[Floats, int]"]

_FEW_POINTS = 2_000  # with no more, a fresh factorisation costs less than the steps between
_STEPS_MANY, _STEPS_FEW = 50, 500  # steps from one fresh factorisation to the next
_LOOSE = 0.1  # a round of cutting planes is solved to this share of the last one's violation
_CREEP = 0.5  # Newton steps follow where a round of steps leaves more than this of the violation
_NEWTON_POINTS = 400  # most points for Newton steps, which cost their number cubed
SHRINK, EXPAND = 0.9999, 5.0  # θ and η of Algorithm 3


class Ellipsoid(NamedTuple):
    """An origin-centred ellipsoid {x: xᵀ shape x ≤ 1} around points, and what certifies it.

    `contact` holds p_iᵀ shape p_i ≤ 1, `weights` the dual solution, `gap` how far -log det shape
    may be above its minimum.
    """

    shape: Floats
    weights: Floats
    contact: Floats
    gap: float
    n_iter: int
    converged: bool


LEAST_GAP = 1e-12


class Stop(NamedTuple):
    """When to stop: max w ≤ d (1 + excess), and w ≥ d (1 - slack) where u > 0."""

    excess: float
    slack: float
    max_iter: int

    @classmethod
    def at_gap(cls, gap: float, d: int, max_iter: int) -> Stop:
        """Stop when the duality gap is reached, and the support lies as near the boundary.

        A gap below LEAST_GAP is met as that: rounding of the contacts is about as large.
        """
        gap = reachable_tolerance(gap, floor=LEAST_GAP)
        return cls(float(np.expm1(gap / d)), gap, max_iter)


@njit(cache=True)
def _away_steps(points, u, inverse, w, excess, slack, max_steps):
    """Take Frank-Wolfe or away steps in place; return how many. d is at least 2."""
    m, d = points.shape
    dots = np.empty(m)
    for step in range(max_steps):
        top, low = 0, -1
        for i in range(m):
            if w[i] > w[top]:
                top = i
            if u[i] > 0.0 and (low < 0 or w[i] < w[low]):
                low = i
        above, below = w[top] / d - 1.0, 1.0 - w[low] / d
        if above <= excess and below <= slack:
            return step
        is_drop = False
        if above >= below:
            j = top
            t = (w[j] - d) / (d * (w[j] - 1.0))  # the best step of log det Ω along e_j − u
        else:
            j = low
            limit = -u[j] / (1.0 - u[j])
            t = (w[j] - d) / (d * (w[j] - 1.0)) if w[j] > 1.0 else limit
            if t <= limit:  # away: no further than a weight of zero
                t, is_drop = limit, True
        # Ω becomes (1 - t) Ω + t p_j p_jᵀ; its inverse and w follow by Sherman-Morrison.
        g = np.dot(inverse, points[j])
        rate = t / (1.0 - t + t * w[j])
        keep = 1.0 - t
        np.dot(points, g, dots)
        for a in range(d):
            for b in range(d):
                inverse[a, b] = (inverse[a, b] - rate * g[a] * g[b]) / keep
        for i in range(m):
            w[i] = (w[i] - rate * dots[i] * dots[i]) / keep
            u[i] *= keep
        u[j] = 0.0 if is_drop else u[j] + t
    return max_steps


def whiten(points: Floats) -> tuple[Floats, Floats]:
    """Return points with identity second moment, and R with ``points = whitened @ R``.

    Raises ValueError where the points do not span their space: no ellipsoid is least then.
    """
    m, d = points.shape
    scale = np.abs(points).max(axis=0)
    scale[scale == 0] = 1.0  # columns may be in any units: rank is judged without them
    r = qr(points / scale, mode="r", check_finite=False)[0][:d]
    sizes = svdvals(r)
    rank = int((sizes > sizes[0] * max(m, d) * np.finfo(float).eps).sum())
    if rank < d:
        raise ValueError(
            f"{m} points span {rank} of {d} dimensions: an ellipsoid of least volume around them "
            "would be flat. Reduce the dimension first."
        )
    r = r * scale / np.sqrt(m)
    return np.ascontiguousarray(solve_triangular(r, points.T, trans=1).T), r


def greedy_start(points: Floats) -> Floats:
    """Return equal weights on d points that span the space, each far from those before it.

    The points are chosen as in Kumar and Yıldırım (2005); the direction in which the next one
    must be far is that of the largest remainder, not random.
    """
    m, d = points.shape
    weights, basis = np.zeros(m), np.zeros((d, d))
    sizes = np.einsum("ij,ij->i", points, points)
    for k in range(d):
        j = int(sizes.argmax())
        rest = points[j] - basis[:k].T @ (basis[:k] @ points[j])
        rest -= basis[:k].T @ (basis[:k] @ rest)  # twice is enough for orthogonality
        basis[k] = rest / np.linalg.norm(rest)
        weights[j] += 1.0
        sizes = sizes - (points @ basis[k]) ** 2
        sizes[weights > 0] = -np.inf
    return weights / weights.sum()


def leverages(points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return w_i = p_iᵀ Ω(u)⁻¹ p_i and H with Ω(u)⁻¹ = H Hᵀ, computed afresh from the weights."""
    used = weights > 0
    moment = (points[used] * weights[used, None]).T @ points[used]
    half = solve_triangular(cholesky(moment), np.eye(points.shape[1]))
    z = points @ half
    return np.einsum("ij,ij->i", z, z), half


def may_touch(w: Floats, d: int) -> NDArray[np.bool_]:
    """Tell which points can lie on the optimal ellipsoid, given w at any weights u.

    With A = Ω(u)^-½ Ω* Ω(u)^-½: tr A ≤ max w and tr A⁻¹ ≤ d, and a point of contact has
    w ≥ d λ_min(A). The least λ that both traces allow solves λ² - (2 + ε) λ + 1 + ε/d = 0 with
    ε = max w - d (Harman and Pronzato 2007, Theorem 1).
    """
    eps = max(float(w.max()) - d, 0.0)
    least = 1.0 + eps / 2.0 - np.sqrt(eps * (4.0 + eps - 4.0 / d)) / 2.0
    return w >= d * least * (1.0 - 1e-9)  # a margin for rounding


def violation(w: Floats, u: Floats, stop: Stop) -> float:
    """Return how far w is from optimal, as a multiple of what `stop` allows."""
    d = float(u @ w)  # Σ u w = d for any weights
    above, below = w.max() / d - 1.0, 1.0 - w[u > 0].min() / d
    return float(max(above / stop.excess, below / stop.slack))


def newton_steps(points: Floats, u: Floats, stop: Stop, max_steps: int = 20) -> tuple[Floats, int]:
    """Maximise log det Ω(v) - d Σ v over v ≥ 0, whose maximum lies on the simplex, by Newton.

    The gradient is w - d, the Hessian -H with H_ij = (p_iᵀ Ω⁻¹ p_j)², and H u = w: the model
    around u is least at the v ≥ 0 that minimises ½ vᵀ H v - (2 w - d)ᵀ v, a non-negative
    least-squares problem.
    """
    d = points.shape[1]
    for step in range(max_steps):
        w, half = leverages(points, u)
        if violation(w, u, stop) <= 1.0:
            return u, step
        used = (u > 0) | (w > d)
        z = points[used] @ half
        target = 2.0 * w[used] - d  # Hv = w − d + Hu, with Hu = w
        v = np.zeros_like(u)
        v[used] = nonnegative_least_squares((z @ z.T) ** 2, target[None, :]).weights[0]
        better = _along(points, u, v)
        if better is None:
            return u, step
        u = better
    return u, max_steps


def _along(points: Floats, u: Floats, v: Floats) -> Floats | None:
    """Return the weights nearest to v on the way from u that raise log det Ω, on the simplex."""
    now = _log_det(points, u)
    now -= 1e-14 * (1.0 + abs(now))  # near the end the rise is lost in rounding
    for halvings in range(20):
        trial = u + 0.5**halvings * (v - u)
        trial /= trial.sum()
        if _log_det(points, trial) > now:
            return trial
    return None


def _log_det(points: Floats, u: Floats) -> float:
    used = u > 0
    sign, value = np.linalg.slogdet((points[used] * u[used, None]).T @ points[used])
    return float(value) if sign > 0 else -np.inf


def frank_wolfe(
    points: Floats,
    weights: Floats,
    stop: Stop,
    *,
    eliminate: bool = True,
    step: Callable[[], bool] | None = None,
) -> tuple[Floats, int]:
    """Maximise log det Ω(u) from `weights` by Frank-Wolfe with away steps.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        They span the space; d is at least 2.
    weights : ndarray of shape (m,)
        Where to start: on the simplex, with a support that spans the space.
    stop : Stop
        Tolerances and the largest number of steps.
    eliminate : bool
        Discard points for good that cannot touch the ellipsoid.
    step : callable, optional
        Called between factorisations; returns whether to stop.

    Returns
    -------
    weights : ndarray of shape (m,)
        The solution.
    n_iter : int
        Number of steps.
    """
    d = points.shape[1]
    alive, near, u = np.arange(len(points)), points, weights.copy()
    n_iter, before = 0, np.inf
    while True:
        w, half = leverages(near, u)
        now = violation(w, u, stop)
        if now <= 1.0 or n_iter >= stop.max_iter or (step is not None and step()):
            break
        if eliminate:
            keep = may_touch(w, d) | (u > 0)
            if keep.mean() < 0.8:  # copying pays
                alive, near, u, w = alive[keep], near[keep], u[keep], w[keep]
        creeps, before = now > _CREEP * before, now
        if creeps and ((u > 0) | (w > d)).sum() <= _NEWTON_POINTS:
            u, done = newton_steps(near, u, stop, min(20, stop.max_iter - n_iter))
            n_iter += done
            if done:
                continue
        budget = _STEPS_FEW if len(near) <= _FEW_POINTS else _STEPS_MANY
        budget = min(budget, stop.max_iter - n_iter)
        done = _away_steps(near, u, half @ half.T, w, stop.excess, stop.slack, budget)
        if done == 0:  # what is left is rounding
            break
        n_iter += done
        u /= u.sum()
    found = np.zeros(len(points))
    found[alive] = u
    return found, n_iter


def cutting_plane(
    points: Floats,
    weights: Floats,
    stop: Stop,
    *,
    inner: Solver = frank_wolfe,
    shrink: float = SHRINK,
    expand: float = EXPAND,
    step: Callable[[], bool] | None = None,
) -> tuple[Floats, int]:
    """Solve on few points, add those left outside, and repeat (Algorithm 3 of Mizutani 2014).

    Parameters
    ----------
    points : ndarray of shape (m, d)
        They span the space.
    weights : ndarray of shape (m,)
        Where to start; its support is the first set.
    stop : Stop
        Tolerances, and the largest number of steps of the inner solver in all.
    inner : callable
        Solves on a set of points: called as `frank_wolfe` is.
    shrink : float
        θ: points of the set with contact ≤ θ and no weight leave it.
    expand : float
        η: at most (m - 2d) / η points outside the ellipsoid, the farthest, join the set.
    step : callable, optional
        Called after each round; returns whether to stop.

    Returns
    -------
    weights : ndarray of shape (m,)
        The solution.
    n_iter : int
        Number of steps of the inner solver.
    """
    m, d = points.shape
    most = max(int((m - 2 * d) / expand), 1)
    chosen, u, n_iter, loose = weights > 0, weights.copy(), 0, _LOOSE
    while True:
        # Early rounds need no accuracy; the last leaves half the excess to the points outside.
        goal = Stop(max(loose, stop.excess / 2), max(loose, stop.slack), stop.max_iter - n_iter)
        u[chosen], done = inner(points[chosen], u[chosen], goal)
        n_iter += done
        w = leverages(points, u)[0]
        outside = np.flatnonzero((w > d * (1.0 + stop.excess)) & ~chosen)
        # line 2 of Algorithm 3
        is_last = len(outside) == 0 and loose <= min(stop.excess / 2, stop.slack)
        if is_last or n_iter >= stop.max_iter or (step is not None and step()):
            return u, n_iter
        loose = _LOOSE * max(float(w.max()) / d - 1.0, 0.0) if len(outside) else 0.0
        chosen &= (w > shrink * d) | (u > 0)  # line 3: F has δ ≤ θ
        if len(outside) > most:
            # and G the points farthest outside
            outside = outside[np.argpartition(-w[outside], most)[:most]]
        chosen[outside] = True


def convex_program(points: Floats, weights: Floats, stop: Stop, **_: object) -> tuple[Floats, int]:
    """Return the dual weights of Q(S) as cvxpy solves it: the reference, slow and from scratch."""
    try:
        import cvxpy as cp
    except ImportError:
        raise ImportError("method='cvxpy' needs the package cvxpy: pip install cvxpy.") from None
    shape = cp.Variable((points.shape[1],) * 2, PSD=True)
    inside = cp.sum(cp.multiply(points @ shape, points), axis=1) <= 1
    problem = cp.Problem(cp.Maximize(cp.log_det(shape)), [inside])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # how accurate it is, our gap tells
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    if inside.dual_value is None:
        raise RuntimeError(f"CVXPY found no ellipsoid: {problem.status}.")
    found = np.asarray(inside.dual_value, dtype=float)
    found[found < 1e-7 * found.max()] = 0.0  # an interior-point method leaves no weight at zero
    return found / found.sum(), int(problem.solver_stats.num_iters or 0)


SOLVERS: dict[str, Solver] = {
    "fw": frank_wolfe,
    "cutting-plane": cutting_plane,
    "cvxpy": convex_program,
}


def enclosing_ellipsoid(
    points: Floats,
    stop: Stop,
    *,
    method: str = "fw",
    step: Callable[[], bool] | None = None,
) -> Ellipsoid:
    """Return the origin-centred ellipsoid of least volume around points.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        They span the space, or ValueError is raised.
    stop : Stop
        Tolerances and the largest number of steps.
    method : {"fw", "cutting-plane", "cvxpy"}
        Which solver.
    step : callable, optional
        Called now and then; returns whether to stop.

    Returns
    -------
    Ellipsoid
        The ellipsoid, enclosing also where it did not converge.
    """
    m, d = points.shape
    white, r = whiten(points)
    if d == 1:  # the farthest point alone
        weights, n_iter = np.zeros(m), 0
        weights[int(np.abs(white[:, 0]).argmax())] = 1.0
    else:
        weights, n_iter = SOLVERS[method](white, greedy_start(white), stop, step=step)
    w, half = leverages(white, weights)
    top = float(w.max())
    support = float(w[weights > 0].min())
    half = solve_triangular(r, half)  # back to the scale of the points
    return Ellipsoid(
        shape=half @ half.T / top,
        weights=weights,
        contact=w / top,
        gap=d * float(np.log(max(top / d, 1.0))),  # log of the volumes' ratio
        n_iter=n_iter,
        converged=top <= d * (1.0 + stop.excess) and support >= d * (1.0 - stop.slack),
    )


def _warmup() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    u = np.array([0.5, 0.5, 0.0])
    _away_steps(points, u, 2.0 * np.eye(2), np.array([2.0, 2.0, 4.0]), 0.1, 0.1, 3)
