"""How large the noise is: from residuals of a smoother, or from differences of neighbours.

A linear smoother W leaves residuals whose sum of squares has the mean σ² (n - 2 tr W + |W|²_F) plus
what is left of the function. Hall and Marron divide by that. Here W is a Nadaraya-Watson smoother
or kernel ridge regression, its width or penalty chosen by generalised cross-validation, which
the paper leaves open. In one dimension, differences of neighbours need no choice at all.

References: Hall and Marron (1990), "On variance estimation in nonparametric regression", Biometrika
77; Rice (1984), "Bandwidth choice for nonparametric regression", Annals of Statistics 12; Gasser,
Sroka and Jennen-Steinmetz (1986), "Residual variance and residual pattern", Biometrika 73.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array

__all__ = [
    "gasser_variance",
    "hall_marron_variance",
    "rice_variance",
    "ridge_variance",
    "smoother_variance",
]

_WIDTHS = 24  # bandwidths, each 1/√2 of the one before
_MOST_FREEDOM = 0.75  # of n: beyond, a smoother interpolates and its residuals tell nothing
_AT_ONCE = 1500  # rows of one smoother matrix


def _rows_and_target(X: Any, y: Any, least: int = 4) -> tuple[Floats, Floats]:
    rows, target = real_array(X, "X"), real_array(y, "y")
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or target.ndim != 1 or len(rows) != len(target):
        raise ValueError(
            "X must have one row per entry of y, a vector; got shapes "
            f"{rows.shape} and {target.shape}."
        )
    if len(target) < least:
        raise ValueError(f"At least {least} rows are needed to tell noise; got {len(target)}.")
    check_squares(rows)
    check_squares(target[:, None], "y")
    return rows, target


def _sorted_line(x: Any, y: Any) -> tuple[Floats, Floats]:
    rows, target = _rows_and_target(x, y)
    if rows.shape[1] != 1:
        raise ValueError(
            f"Differences of neighbours need one column, which can be sorted; x has "
            f"{rows.shape[1]}. Use hall_marron_variance or ridge_variance."
        )
    order = np.argsort(rows[:, 0], kind="stable")
    return rows[order, 0], target[order]


@checked
def rice_variance(x: Any, y: Any) -> float:
    """Estimate the noise's variance from first differences of neighbours (Rice 1984).

    Parameters
    ----------
    x : array-like of shape (n,)
        Places on a line, in any order.
    y : array-like of shape (n,)
        What was measured there.

    Returns
    -------
    variance : float
        Σ (y_{i+1} - y_i)² / (2(n - 1)).

    Examples
    --------
    >>> from octavo.kernel import rice_variance
    >>> round(rice_variance([0, 1, 2, 3], [0.0, 1.0, 0.0, 1.0]), 4)
    0.5
    """
    _, target = _sorted_line(x, y)
    # differences have twice the variance
    return float((np.diff(target) ** 2).sum() / (2 * (len(target) - 1)))


@checked
def gasser_variance(x: Any, y: Any) -> float:
    """Estimate the noise's variance from pseudo-residuals (Gasser et al. 1986).

    Each point is compared with the line through its two neighbours, so that a linear function
    contributes nothing.

    Parameters
    ----------
    x : array-like of shape (n,)
        Places on a line, in any order.
    y : array-like of shape (n,)
        What was measured there.

    Returns
    -------
    variance : float
        Mean of ε_i² / (a_i² + b_i² + 1), ε_i = a_i y_{i-1} + b_i y_{i+1} - y_i.

    Examples
    --------
    >>> from octavo.kernel import gasser_variance
    >>> round(gasser_variance([0, 1, 2, 3], [0.0, 1.0, 2.0, 4.0]), 4)
    0.0833
    """
    place, target = _sorted_line(x, y)
    gap = place[2:] - place[:-2]
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.where(gap > 0.0, (place[2:] - place[1:-1]) / gap, 0.5)
    b = 1.0 - a
    pseudo = a * target[:-2] + b * target[2:] - target[1:-1]
    # pseudo-residuals scaled to unit variance
    return float((pseudo**2 / (a**2 + b**2 + 1.0)).mean())


@checked
def smoother_variance(y: Any, W: Any) -> float:
    """Estimate the noise's variance from the residuals of any linear smoother.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    W : array-like of shape (n, n)
        The smoother's matrix: fitted values are W y.

    Returns
    -------
    variance : float
        |y - Wy|² / (n - 2 tr W + |W|²_F), as in Hall and Marron.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import smoother_variance
    >>> round(smoother_variance([1.0, 2.0, 6.0], np.full((3, 3), 1 / 3)), 4)  # the mean: n - 1
    7.0
    """
    target, smoother = real_array(y, "y"), real_array(W, "W")
    n = len(target) if target.ndim == 1 else -1
    if smoother.shape != (n, n) or n < 1:
        raise ValueError(
            f"W must be square with one row per entry of y; got shapes {smoother.shape} and "
            f"{target.shape}."
        )
    check_squares(smoother, "W")
    check_squares(target[:, None], "y")
    left = float(((target - smoother @ target) ** 2).sum())
    # of Hall and Marron: E|y − Wy|² = σ² tr (1 − W)'(1 − W) but for bias
    freedom = n - 2.0 * float(np.trace(smoother)) + float((smoother**2).sum())
    if not freedom > 1e-10 * n:
        raise ValueError(
            "The smoother leaves no residuals (it interpolates); noise cannot be told from it. "
            "Smooth more."
        )
    return left / freedom


@checked
def hall_marron_variance(X: Any, y: Any, *, bandwidth: float | None = None) -> float:
    """Estimate the noise's variance from the residuals of a Nadaraya-Watson smoother.

    Parameters
    ----------
    X : array-like of shape (n, d) or (n,)
        Rows. Columns are scaled to unit deviation; many columns make the smoother poor, and then
        `ridge_variance` is the better choice.
    y : array-like of shape (n,)
        Targets.
    bandwidth : float, default=None
        Width h of the Gaussian weights exp(-|x - x'|²/2h²), in units of the scaled columns. None
        chooses it by generalised cross-validation; Hall and Marron's order, n^(-1/5), is met
        without their constants.

    Returns
    -------
    variance : float
        |y - Wy|² / (n - 2 tr W + |W|²_F). Beyond 1,500 rows, over pieces of that many rows.

    Warns
    -----
    UserWarning
        If the bandwidth is so small that W interpolates; generalised cross-validation then
        chooses another.

    References
    ----------
    .. [1] P. Hall and J. S. Marron (1990). "On variance estimation in nonparametric regression".
       Biometrika 77.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import hall_marron_variance
    >>> x = np.linspace(0, 1, 400)
    >>> y = np.sin(6 * x) + 0.5 * np.random.default_rng(0).normal(size=400)
    >>> round(hall_marron_variance(x, y), 2)
    0.25
    """
    rows, target = _rows_and_target(X, y)
    if bandwidth is not None:
        is_number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
        if not is_number or not 0.0 < float(bandwidth) < np.inf:
            raise ValueError(f"bandwidth must be a positive number or None, got {bandwidth!r}.")
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    order = np.argsort(scaled @ np.ones(scaled.shape[1]), kind="stable")
    n_pieces = -(-len(target) // _AT_ONCE)
    left = freedom = 0.0
    for piece in np.array_split(order, n_pieces):
        part = _nadaraya_watson(scaled[piece], target[piece], bandwidth)
        left, freedom = left + part[0], freedom + part[1]
    return left / freedom


def _nadaraya_watson(X: Floats, y: Floats, bandwidth: float | None) -> tuple[float, float]:
    """Return |y - Wy|² and what it is divided by, at the bandwidth given or chosen."""
    squares = (X**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0)
    n = len(y)
    if bandwidth is not None:
        left, trace, square = _residuals(np.exp(-apart / (2.0 * float(bandwidth) ** 2)), y)
        if n - 2.0 * trace + square > 1e-6 * n:
            return left, n - 2.0 * trace + square
        warnings.warn(
            f"bandwidth={bandwidth:g} makes the smoother interpolate; it is chosen by generalised "
            "cross-validation instead.",
            UserWarning,
            stacklevel=5,
        )
    widest = 2.0 * np.sqrt(max(float(apart.max()), 1e-300))
    weights = np.exp(-apart / (2.0 * widest**2))
    best = (np.inf, 0.0, 1.0)
    for _ in range(_WIDTHS):
        left, trace, square = _residuals(weights, y)
        if trace > _MOST_FREEDOM * n:
            break
        # generalised cross-validation, as the paper names no bandwidth
        best = min(best, (left / (1.0 - trace / n) ** 2, left, n - 2.0 * trace + square))
        np.square(weights, out=weights)  # h becomes h/√2
    return best[1], best[2]


def _residuals(weights: Floats, y: Floats) -> tuple[float, float, float]:
    """Return |y - Wy|², tr W and |W|²_F of weights whose rows are still to be scaled."""
    total = weights.sum(axis=1)
    fitted = weights @ y / total
    trace = float((np.diagonal(weights) / total).sum())
    square = float((np.einsum("ij,ij->i", weights, weights) / total**2).sum())
    return float(((y - fitted) ** 2).sum()), trace, square


class Masses(NamedTuple):
    """Sums over a spectrum: points λ, and the weight of each."""

    at: Floats
    weights: Floats


def tail_masses(
    total: float, first: float, second: float, top: float, *, above: bool = False
) -> Masses:
    """Return points in [0, top] that stand for so many eigenvalues with these sums of λ and λ².

    The rule of Gauss and Radau has two points, one of them at an end, 0 or `top`; the two bound
    from both sides the sum of any function whose third derivative keeps its sign, such as
    those of ridge regression. Where rounding has left no third sum to match, the mean and both
    ends bound the sum of a convex function.
    """
    if not total > 0.0 or not first > 0.0 or not top > 0.0:
        return Masses(np.zeros(1), np.array([max(total, 0.0)]))
    end = top if above else 0.0
    mean, spread = first - end * total, second - 2.0 * end * first + end * end * total
    other = end + spread / mean if mean != 0.0 else -1.0
    if 0.0 < other < top and first * first < second * total:
        weight = mean * mean / spread
        return Masses(np.array([end, other]), np.array([total - weight, weight]))
    if above:
        return Masses(np.array([min(first / total, top)]), np.array([total]))
    weight = min(first / top, total)
    return Masses(np.array([0.0, top]), np.array([total - weight, weight]))


def chosen_ridge(
    spectrum: Masses, energy: Masses, n: int, most: float = np.inf
) -> tuple[float, bool]:
    """Return the noise's variance at the penalty that cross-validation chooses.

    `spectrum` has the eigenvalues, `energy` the squares of y's coordinates on them; either may
    end in a rule for what is not listed, which is good for inverse penalties up to `most`. Also
    returned is whether the chosen one lies below that limit.
    """
    top = float(spectrum.at.max())
    if not top > 0.0:
        return float(energy.weights.sum()) / n, True
    nus = np.logspace(-3, 12, 181)[:, None] / top
    left = 1.0 / (1.0 + nus * spectrum.at)  # 1 - W in the eigenvectors
    on_y = left if spectrum.at is energy.at else 1.0 / (1.0 + nus * energy.at)
    squares = on_y**2 @ energy.weights
    traces = (1.0 - left) @ spectrum.weights
    freedom = left**2 @ spectrum.weights
    # generalised cross-validation
    scores = np.where(traces <= _MOST_FREEDOM * n, squares / (1.0 - traces / n) ** 2, np.inf)
    known = max(int(np.sum(nus[:, 0] <= most)), 1)
    best = int(np.argmin(scores[:known]))
    is_inside = known == len(nus) or best < known - 1
    return float(squares[best] / freedom[best]), is_inside


@checked
def ridge_variance(eigs: Any, z: Any, *, n: int | None = None, rest: float = 0.0) -> float:
    """Estimate the noise's variance from the residuals of kernel ridge regression.

    Its penalty is chosen by generalised cross-validation on the spectrum, so that it costs a
    sum per penalty; it works for any number of columns and for kernels of any things.

    Parameters
    ----------
    eigs : array-like of shape (k,)
        Eigenvalues of Gram/n, all or the largest.
    z : array-like of shape (k,)
        Coordinates of y in their eigenvectors.
    n : int, default=None
        Rows; k by default.
    rest : float, default=0.0
        Squared length of y outside these eigenvectors, where k < n.

    Returns
    -------
    variance : float
        |y - Wy|² / (n - 2 tr W + |W|²_F).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import ridge_variance
    >>> rng = np.random.default_rng(0)
    >>> eigs = 1.0 / np.arange(1, 501) ** 2
    >>> z = 10 * np.sqrt(eigs) + 0.5 * rng.normal(size=500)
    >>> round(ridge_variance(eigs, z), 2)
    0.27
    """
    values, coordinates = real_array(eigs, "eigs"), real_array(z, "z")
    if values.ndim != 1 or values.shape != coordinates.shape or not values.size:
        raise ValueError(
            f"z must have one coordinate per eigenvalue; eigs has shape {values.shape}, z "
            f"{coordinates.shape}."
        )
    check_squares(coordinates[:, None], "z")
    if values.min() < -1e-8 * max(values.max(), 0.0):
        raise ValueError(f"eigs must not be negative; the smallest is {values.min():.3g}.")
    n = len(values) if n is None else n
    if isinstance(n, bool) or not isinstance(n, Integral) or n < len(values):
        raise ValueError(f"n must be at least the number of eigenvalues, {len(values)}; got {n!r}.")
    if not isinstance(rest, Real) or not 0.0 <= float(rest) < 1e300:
        raise ValueError(f"rest must be a squared length, at least 0; got {rest!r}.")
    points = np.append(np.maximum(values, 0.0), 0.0)
    spectrum = Masses(points, np.append(np.ones(len(values)), n - len(values)))
    return chosen_ridge(spectrum, Masses(points, np.append(coordinates**2, float(rest))), n)[0]
