"""Hyper-parameters: their mode, the scaled eigenvectors there, a grid of nodes around (Section 5).

Nodes are found by breadth-first search on Z^d: only the neighbours of nodes whose log density is
within `threshold` of the mode are looked at, so that the evaluations grow with the volume of a
ball and not of a cube. Rue's axis grid is there for comparison.

References
----------
B. Cseke and T. Heskes. Approximate marginals in latent Gaussian models. JMLR 12, 2011, Section 5.
H. Rue, S. Martino and N. Chopin. Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations. JRSS B 71, 2009.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline, RBFInterpolator
from scipy.optimize import minimize

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["HyperGrid", "hyperparameter_grid"]

_MOST_NODES = 20_000
Batch = Callable[[list[Floats]], Sequence[float]]


class HyperGrid(NamedTuple):
    """Nodes of a grid of hyper-parameters.

    mode : array of shape (d,)
    axes : array of shape (d, d); a node is mode + axes @ (step k) for whole k.
    nodes : array of shape (n_nodes, d), those within the threshold.
    log_density : array of shape (n_nodes,), relative to the mode's zero.
    weights : array of shape (n_nodes,), their sum is one.
    evaluated : array of shape (n_evaluated, d), all points that were looked at, in units of `axes`.
    evaluated_log_density : array of shape (n_evaluated,)
    """

    mode: Floats
    axes: Floats
    nodes: Floats
    log_density: Floats
    weights: Floats
    evaluated: Floats
    evaluated_log_density: Floats


def find_mode(log_density: Callable[[Floats], float], theta0: Floats) -> Floats:
    """Return the mode by quasi-Newton steps with differences, from a start that has a density."""
    start = float(log_density(theta0))
    if not np.isfinite(start):
        raise ValueError(f"The log density at theta0={theta0.tolist()} is {start}, not finite.")

    def objective(theta: Floats) -> float:
        value = log_density(theta)
        return -value if np.isfinite(value) else 1e10

    def gradient(theta: Floats) -> Floats:
        # EP's evidence is right to about 1e-6: wide steps keep that out of the slope.
        step = 1e-2
        out = np.empty(theta.size)
        for k in range(theta.size):
            move = np.zeros(theta.size)
            move[k] = step
            out[k] = (objective(theta + move) - objective(theta - move)) / (2.0 * step)
        return np.clip(out, -1e4, 1e4)

    found = minimize(objective, theta0, jac=gradient, method="BFGS", options={"gtol": 5e-3})
    return np.asarray(found.x if found.fun <= -start else theta0, dtype=np.float64)


def mode_axes(log_density: Callable[[Floats], float], mode: Floats, step: float = 0.1) -> Floats:
    """Return U Λ^{1/2} of the inverse of minus the Hessian at the mode, by central differences."""
    d = mode.size
    centre = log_density(mode)
    H = np.empty((d, d))
    unit = np.eye(d) * step
    for i in range(d):
        up, down = log_density(mode + unit[i]), log_density(mode - unit[i])
        # second differences: what they keep of rounding is 1e-14 / step²
        H[i, i] = -(up - 2.0 * centre + down) / step**2
        for j in range(i):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            corners = [log_density(mode + s * unit[i] + r * unit[j]) for s, r in signs]
            H[i, j] = H[j, i] = -(corners[0] - corners[1] - corners[2] + corners[3]) / (
                4.0 * step**2
            )
    if not np.isfinite(H).all():
        raise ValueError("The log density of the hyper-parameters is not finite about its mode.")
    values, vectors = np.linalg.eigh(H)
    # A direction that the data say nothing about (no curvature) gets unit scale.
    values = np.where(values > 1e-2, values, 1.0)
    # Section 5: U Λ^{1/2}, with Λ the inverse of these eigenvalues
    return vectors / np.sqrt(values)


def _one_by_one(log_density: Callable[[Floats], float]) -> Batch:
    return lambda points: [float(log_density(point)) for point in points]


@checked
def hyperparameter_grid(
    log_density: Callable[[Floats], float],
    mode: ArrayLike,
    axes: ArrayLike | None = None,
    *,
    step: float = 1.0,
    threshold: float = 6.0,
    method: str = "breadth-first",
    batch: Batch | None = None,
) -> HyperGrid:
    """Return the nodes about a mode at which the log density is within `threshold` of it.

    Parameters
    ----------
    log_density : callable
        Of an array of shape (d,), up to a constant.
    mode : array-like of shape (d,)
        Where the search begins.
    axes : array-like of shape (d, d), default=None
        Directions of the grid, in columns; found from differences at the mode if None.
    step : float, default=1.0
        Spacing in units of the axes (the paper's Δ).
    threshold : float, default=6.0
        The paper's δ.
    method : {"breadth-first", "axis"}, default="breadth-first"
        How nodes are looked for: the paper's search on the grid graph, or the product of the
        ranges along each axis (Rue, Martino and Chopin).
    batch : callable, default=None
        Evaluates a list of points at once, for use of many processes.

    Returns
    -------
    grid : HyperGrid
        Nodes with log densities and weights, and all that was evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import hyperparameter_grid
    >>> grid = hyperparameter_grid(lambda t: -0.5 * float(t @ t), [0.0, 0.0], np.eye(2))
    >>> len(grid.nodes), len(grid.evaluated)
    (37, 57)
    """
    if method not in ("breadth-first", "axis"):
        raise ValueError(f"method should be 'breadth-first' or 'axis', got {method!r}.")
    if not (step > 0 and threshold > 0):
        raise ValueError(f"step and threshold should be positive, got {step} and {threshold}.")
    centre = np.atleast_1d(np.asarray(mode, dtype=np.float64))
    if axes is None:
        directions = mode_axes(log_density, centre)
    else:
        directions = np.atleast_2d(np.asarray(axes, dtype=np.float64))
    if directions.shape != (centre.size,) * 2:
        raise ValueError(f"axes should have shape {(centre.size,) * 2}, got {directions.shape}.")
    evaluate = _one_by_one(log_density) if batch is None else batch

    def at(keys: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        # Section 5: θ(k) = θ* + U Λ^{1/2} Δ k
        points = [centre + directions @ (step * np.array(key, dtype=float)) for key in keys]
        return dict(zip(keys, (float(v) for v in evaluate(points)), strict=True))

    found = at([(0,) * centre.size])
    top = next(iter(found.values()))
    search = _breadth_first if method == "breadth-first" else _along_axes
    search(found, at, top - threshold, centre.size)
    keys = np.array(list(found), dtype=np.float64) * step
    values = np.array(list(found.values())) - top
    inside = values > -threshold
    weights = np.exp(values[inside] - values[inside].max())  # weights of the mixture over θ
    return HyperGrid(
        centre,
        directions,
        centre + keys[inside] @ directions.T,
        values[inside],
        weights / weights.sum(),
        keys,
        values,
    )


def _neighbours(key: tuple[int, ...]) -> list[tuple[int, ...]]:
    out = []
    for i in range(len(key)):
        for move in (-1, 1):
            out.append((*key[:i], key[i] + move, *key[i + 1 :]))
    return out


def _breadth_first(found: dict[Any, float], at: Any, least: float, d: int) -> None:
    frontier = list(found)
    while frontier:
        ahead = {key for node in frontier for key in _neighbours(node)} - found.keys()
        new = at(sorted(ahead))
        found.update(new)
        if len(found) > _MOST_NODES:
            raise ValueError(
                f"The grid of hyper-parameters has more than {_MOST_NODES} nodes: their "
                "posterior is nearly flat. Give a hyperprior, or fix some of them."
            )
        # Section 5: only neighbours of nodes above the threshold are expanded
        frontier = [key for key, value in new.items() if value > least]


def _along_axes(found: dict[Any, float], at: Any, least: float, d: int) -> None:
    ranges = []
    for i in range(d):
        reached = [0]
        for sign in (-1, 1):
            k = 0
            while abs(k) < 100:
                k += sign
                key = tuple(k if j == i else 0 for j in range(d))
                found.update(at([key]))
                if found[key] <= least:
                    break
                reached.append(k)
        ranges.append(sorted(reached))
    rest = [key for key in itertools.product(*ranges) if key not in found]
    if rest:
        found.update(at(rest))


def log_volume(grid: HyperGrid, step: float = 1.0) -> float:
    """Return the log volume of a cell of the grid."""
    return float(np.linalg.slogdet(grid.axes)[1] + grid.mode.size * np.log(step))


def hyper_density(grid: HyperGrid, k: int) -> Marginal:
    """Return the marginal of hyper-parameter k, with the other directions integrated out.

    The log density is interpolated between all points that were looked at, as the Gaussian of
    the mode's curvature times a smooth factor.
    """
    d = grid.mode.size
    z, values = grid.evaluated, np.maximum(grid.evaluated_log_density, -60.0)
    # over the Gaussian at the mode: what is left is smooth, and extends flat
    factor = values + 0.5 * (z**2).sum(axis=1)
    scale = np.linalg.norm(grid.axes[k])
    if d == 1:
        order = np.argsort(z[:, 0])
        z1, v1 = z[order, 0], values[order]
        w = np.linspace(z1[0], z1[-1], 801)
        log_f = CubicSpline(z1, v1)(w) if z1.size > 3 else np.interp(w, z1, v1)
        sign = np.sign(grid.axes[k, 0])
        x, log_f = grid.mode[k] + sign * scale * w, log_f
        order = np.argsort(x)
        return Marginal(x[order], np.exp(log_f[order] - log_f.max()), "grid")
    smooth = RBFInterpolator(z, factor, kernel="linear", neighbors=min(len(z), 60))
    first = grid.axes[k] / scale
    basis = np.linalg.qr(np.column_stack([first, np.eye(d)]))[0][:, :d]
    basis[:, 0] = first
    reach = np.abs(z).max()
    w1 = np.linspace(-reach, reach, 81)
    inner = np.linspace(-reach, reach, {2: 41, 3: 21}.get(d, 9))
    rest = np.array(list(itertools.product(inner, repeat=d - 1)))
    total = np.empty(w1.size)
    for i, w in enumerate(w1):
        points = w * basis[:, 0] + rest @ basis[:, 1:].T
        log_f = smooth(points) - 0.5 * (points**2).sum(axis=1)
        # log Σ exp over the other directions
        total[i] = np.log(np.exp(log_f - log_f.max()).sum()) + log_f.max()
    fine = np.linspace(-reach, reach, 801)
    log_fine = CubicSpline(w1, total)(fine)
    return Marginal(grid.mode[k] + scale * fine, np.exp(log_fine - log_fine.max()), "grid")
