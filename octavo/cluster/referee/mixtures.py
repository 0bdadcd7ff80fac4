"""Mixtures and data sets whose clusters overlap exactly as much as they are told to."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import chi2
from sklearn.utils import check_random_state

from octavo.cluster.referee.overlap import (
    GaussianMixtureSpec,
    OverlapMap,
    PairForms,
    largest_overlap,
    least_overlaps,
    log_bounds,
    misclassification,
    overlap_map,
    pair_forms,
    rescaled,
)
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import reachable_tolerance

__all__ = [
    "OverlapNotReached",
    "make_overlap_blobs",
    "make_overlap_dataset",
    "make_overlap_mixture",
]

STEP = 0.3  # of a log scale while the largest overlap is steered
STEPS = 60
SECANTS = 7  # of a common scale, before a bracket is sought
ROUGH = 1e-3  # an overlap to this tells whether a target ten times as far off is within reach
TINY = 1e-300  # stands for an overlap of zero in logarithms
LEAST_TOL = 1e-9  # of overlaps: the rule for probabilities is about ten times as exact


class OverlapNotReached(ValueError):
    """No mixture with the wanted overlap was found; the message tells the nearest.

    Examples
    --------
    >>> from octavo.cluster import OverlapNotReached, make_overlap_mixture
    >>> try:
    ...     make_overlap_mixture(3, 50, bar_omega=0.95, max_tries=1, random_state=0)
    ... except OverlapNotReached as problem:
    ...     print("no mixture with bar_omega=0.95" in str(problem))
    True
    """


def draw_weights(K: int, min_weight: float | None, rng: np.random.RandomState) -> np.ndarray:
    """Return equal weights, or a uniform draw of those with none below `min_weight`."""
    if min_weight is None:
        return np.full(K, 1.0 / K)
    # π_low + (1 − K π_low) Dirichlet(1)
    return min_weight + (1 - K * min_weight) * rng.dirichlet(np.ones(K))


def limit_eccentricity(values: np.ndarray, largest: float) -> np.ndarray:
    """Draw eigenvalues towards the largest until √(1 - min/max) is at most `largest`."""
    top, bottom = values.max(), values.min()
    spread = 1 - bottom / top
    if spread <= largest**2:
        return values
    return top - (top - values) * largest**2 / spread  # √(1 − min/max) of the result is `largest`


def draw_covariances(
    K: int, p: int, shape: str, eccentricity: float, rng: np.random.RandomState
) -> np.ndarray:
    """Return covariances: Wishart with p + 1 degrees of freedom, or multiples of the identity."""
    n_shapes = 1 if shape == "homogeneous" else K
    covs = np.empty((n_shapes, p, p))
    for k in range(n_shapes):
        if shape == "spherical":
            covs[k] = rng.uniform(0.05, 1.0) * np.eye(p)
            continue
        rows = rng.standard_normal((p + 1, p))
        # nearly singular on purpose: shapes differ much
        values, vectors = np.linalg.eigh(rows.T @ rows / (p + 1))
        values = limit_eccentricity(np.maximum(values, 1e-12 * values.max()), eccentricity)
        covs[k] = (vectors * values) @ vectors.T
    return np.broadcast_to(covs, (K, p, p)).copy()


class _Target:
    """What the overlap should be: its average, its maximum, or both."""

    def __init__(self, average: float | None, maximum: float | None, tol: float) -> None:
        self.average, self.maximum = average, maximum
        self.tol = reachable_tolerance(tol, floor=LEAST_TOL)
        self.main = average if average is not None else maximum

    def overlap(self, forms: PairForms) -> float:
        """Return the quantity that a common scale is fitted to: the average if there is one."""
        fine = self.tol / 20  # nearer than which the last halving of a step leaves an average
        if self.average is not None:
            return float(2 * misclassification(forms, 10 * fine).mean())
        return largest_overlap(forms, fine)

    def within_reach(self, forms: PairForms) -> bool:
        """Tell whether the overlap of coinciding means is large enough."""
        # gaps over scale go to zero as the scale grows: the limit
        together = forms._replace(gaps=np.zeros_like(forms.gaps))
        least = least_overlaps(together)
        if self.main < (least.mean() if self.average is not None else least.max()):
            return True
        if self.average is not None:
            rough = float(2 * misclassification(together, ROUGH).mean())
            if abs(rough - self.average) > 10 * ROUGH:
                return rough > self.average
            return self.overlap(together) >= self.average
        wanted = float(self.maximum)  # type: ignore[arg-type]
        return largest_overlap(together, self.tol / 20, enough=wanted) >= wanted

    def met(self, mixture: GaussianMixtureSpec) -> bool:
        """Tell whether a mixture has the overlaps, computed anew from its covariances."""
        fine = self.tol / 10
        factors = np.linalg.cholesky(mixture.covariances)
        forms = pair_forms(mixture.weights, mixture.means, factors)
        if self.average is None:
            return abs(largest_overlap(forms, fine) - self.maximum) <= self.tol  # type: ignore[operator]
        overlap = overlap_map(forms, fine)
        pairs = ((self.average, overlap.average), (self.maximum, overlap.maximum))
        return all(want is None or abs(want - got) <= self.tol for want, got in pairs)


def common_scale(forms: PairForms, target: _Target) -> float | None:
    """Return the log of the factor on all covariances that meets the target, if there is one.

    Overlap need not rise with the scale everywhere (unequal shapes or weights): where secants from
    the first guess do not arrive, a bracket is sought. The caller checks the result.
    """
    K = int(forms.first.max()) + 1
    wanted = float(target.main)  # type: ignore[arg-type]

    @functools.cache  # the ends of the bracket are asked for twice
    def excess(log_scale: float) -> float:
        found = target.overlap(rescaled(forms, np.full(K, log_scale)))
        if abs(found - wanted) <= target.tol / 20:
            return 0.0  # near enough: the search ends
        return math.log(max(found, TINY) / wanted)  # straighter than the overlap itself

    if not target.within_reach(forms):
        return None
    model = functools.partial(_modelled, *log_bounds(forms), target.average is not None)
    low = high = _first_guess(model, wanted)
    if (met := _by_secants(excess, model, low, wanted, target.tol / 20)) is not None:
        return met
    value = excess(low)
    # as far as the bounds' slope says, and a little more, so that the next point is beyond
    step = min(max(1.2 * abs(value) / _bound_slope(forms, low), 0.01), 2.0)
    while value * (moved := excess(high + step * (1 if value < 0 else -1))) > 0:
        high += step * (1 if value < 0 else -1)
        low, step = high, 1.6 * step
        value = moved
        if abs(high) > 200:
            return None
    low, high = sorted((low, high + step * (1 if value < 0 else -1)))
    return float(brentq(excess, low, high, xtol=target.tol / 20, rtol=1e-12))


def _by_secants(
    excess: Callable[[float], float],
    model: Callable[[float], float],
    start: float,
    wanted: float,
    near: float,
) -> float | None:
    """Return the log scale whose excess is `near` zero, or None if a few secants do not find it.

    The overlap of two components of one shape is 2Φ(-d/2): the normal quantile of half of it is
    a straight line through zero in the inverse root of the scale. It is nearly one in general; its
    first slope is that of the model.
    """
    goal = float(ndtri(wanted / 2))
    root = math.exp(-start / 2)
    last = (root * (1 + 1e-3), float(ndtri(model(start - 2 * math.log1p(1e-3)) / 2)))
    height = float(ndtri(model(start) / 2))
    line = (last[0] - root) / (last[1] - height) if last[1] < height else root / goal
    value = 0.0
    for turn in range(SECANTS):
        before, value = value, excess(-2 * math.log(root))
        if value == 0:
            return -2 * math.log(root)
        # an excess falls by a smaller factor than the one before: the next is surely near
        sure = value * value * wanted < near * abs(before)
        height = float(ndtri(min(wanted / 2 * math.exp(value), 0.5)))
        if turn > 0:
            if height == last[1]:
                return None
            line = (root - last[0]) / (height - last[1])
        last = (root, height)
        root += (goal - height) * line
        if not 0.2 < root / last[0] < 5:
            return None
        if sure:
            return -2 * math.log(root)
    return None


def _modelled(alone: np.ndarray, apart: np.ndarray, average: bool, log_scale: float) -> float:
    """Return the overlap at a log scale that bounds suggest.

    The bound exp(-d²/8) of two components of one shape stands for the overlap 2Φ(-d/2).
    """
    gaps = apart * math.exp(-log_scale)  # gaps² fall as 1 / scale
    likely = ndtr(-np.sqrt(2 * np.maximum(gaps - alone, 0.0)))
    return float(2 * (likely.mean() if average else likely.max()))


def _first_guess(model: Callable[[float], float], wanted: float) -> float:
    """Return the log scale at which the bounds suggest the target."""
    if model(-60.0) > wanted or model(30.0) < wanted:
        return 0.0
    return float(brentq(lambda log_scale: model(log_scale) - wanted, -60.0, 30.0, xtol=1e-2))


def _bound_slope(forms: PairForms, log_scale: float) -> float:
    """Return how the log of the sum of the upper bounds rises with the log scale."""
    alone, apart = log_bounds(forms)
    gaps = apart * math.exp(-log_scale)
    bounds = np.exp(alone - gaps - (alone - gaps).max())
    return max(float(bounds @ gaps / bounds.sum()), 0.1)


def steer(forms: PairForms, target: _Target) -> tuple[np.ndarray, OverlapMap] | None:
    """Return log scales of the covariances that meet the average and the maximum together.

    While the largest overlap is too large its two components shrink; while it is too small
    they grow; a common scale keeps the average where it should be. The last step, which passes
    the goal, is shortened until it meets it.
    """
    K = int(forms.first.max()) + 1
    wanted = float(target.maximum)  # type: ignore[arg-type]

    def settled(own: np.ndarray) -> tuple[np.ndarray, OverlapMap] | None:
        common = common_scale(rescaled(forms, own), target)
        if common is None:
            return None
        scales = own + common
        return scales, overlap_map(rescaled(forms, scales), target.tol / 10)

    own = np.zeros(K)
    state = settled(own)
    if state is None:
        return None
    sign = 1.0 if state[1].maximum < wanted else -1.0
    pair = state[1].pair
    for _ in range(STEPS):
        move = np.zeros(K)
        move[list(state[1].pair if sign < 0 else pair)] = sign * STEP
        after = settled(own + move)
        if after is None:
            return None
        if (after[1].maximum - wanted) * sign >= 0:
            return _shortened(own, move, wanted, settled)
        own, state = own + move, after
    return None


def _shortened(own: np.ndarray, move: np.ndarray, wanted: float, settled: Any) -> Any:
    """Return the state on the last move at which the largest overlap is the wanted one."""

    def excess(part: float) -> float:
        state = settled(own + part * move)
        return np.nan if state is None else state[1].maximum - wanted

    low, high = excess(0.0), excess(1.0)
    if not low * high <= 0:
        return None
    part = brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-12)
    return settled(own + part * move)


def check_targets(K: int, average: float | None, maximum: float | None) -> None:
    """Refuse overlaps that no mixture can have."""
    if average is None and maximum is None:
        raise ValueError("Give bar_omega, max_omega, or both.")
    for name, value in (("bar_omega", average), ("max_omega", maximum)):
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1; got {value}.")
    if average is not None and maximum is not None:
        pairs = K * (K - 1) // 2
        if not average <= maximum <= pairs * average:
            raise ValueError(
                f"The largest of {pairs} overlaps with average {average:g} lies between "
                f"{average:g} and {pairs * average:g}; got max_omega={maximum:g}."
            )


@checked
def make_overlap_mixture(
    n_components: int,
    n_features: int,
    *,
    bar_omega: float | None = None,
    max_omega: float | None = None,
    spherical: bool = False,
    homogeneous: bool = False,
    max_eccentricity: float = 0.9,
    min_weight: float | None = None,
    mean_range: tuple[float, float] = (0.0, 1.0),
    max_tries: int = 100,
    tol: float = 1e-6,
    random_state: Any = None,
) -> GaussianMixtureSpec:
    """Draw a Gaussian mixture with a given average and/or largest pairwise overlap.

    Parameters
    ----------
    n_components, n_features : int
        Size of the mixture.
    bar_omega, max_omega : float, optional
        Average and largest overlap of pairs; at least one. About 0.001 is easy, 0.05 is hard for
        the eye, above 0.2 nothing can be told apart.
    spherical : bool, default=False
        Covariances are multiples of the identity.
    homogeneous : bool, default=False
        All components have the same covariance.
    max_eccentricity : float, default=0.9
        Largest √(1 - λmin/λmax) of a covariance.
    min_weight : float, optional
        Draw weights, none smaller than this; by default all are equal.
    mean_range : tuple of float, default=(0.0, 1.0)
        Means are uniform in this range in every coordinate.
    max_tries : int, default=100
        Mixtures to draw before giving up.
    tol : float, default=1e-6
        How far the overlaps may be from what was asked; at least 1e-9, which is what the
        probabilities themselves are known to. Less is met as 1e-9.
    random_state : int, RandomState instance or None, default=None
        Source of the mixture.

    Returns
    -------
    mixture : GaussianMixtureSpec
        The mixture.

    Examples
    --------
    >>> from octavo.cluster import make_overlap_mixture
    >>> mixture = make_overlap_mixture(6, 2, bar_omega=0.05, max_omega=0.135, random_state=0)
    >>> overlap = mixture.overlap_map()
    >>> print(round(overlap.average, 5), round(overlap.maximum, 5))
    0.05 0.135
    """
    K, p = n_components, n_features
    _check_shape(K, p, max_eccentricity, min_weight, mean_range, max_tries)
    check_targets(K, bar_omega, max_omega)
    if not tol >= 0:
        raise ValueError(f"tol must be a number that is not negative; got {tol!r}.")
    if spherical and homogeneous:
        shape = "homogeneous"
        max_eccentricity = 0.0
    else:
        shape = "spherical" if spherical else "homogeneous" if homogeneous else "free"
    rng = check_random_state(random_state)
    target = _Target(bar_omega, max_omega, tol)
    nearest: GaussianMixtureSpec | None = None
    for _ in range(max_tries):
        weights = draw_weights(K, min_weight, rng)
        means = rng.uniform(*mean_range, size=(K, p))
        covs = draw_covariances(K, p, shape, max_eccentricity, rng)
        mixture = GaussianMixtureSpec(weights, means, covs)
        forms = pair_forms(weights, means, np.linalg.cholesky(mixture.covariances))
        scales = _fit_scales(forms, target, shape, K)
        if scales is None:
            continue
        nearest = mixture.scaled(scales)
        if target.met(nearest):
            return nearest
    found = None if nearest is None else nearest.overlap_map(target.tol / 10)
    raise OverlapNotReached(_explain(target, found, max_tries, forms))


def _fit_scales(forms: PairForms, target: _Target, shape: str, K: int) -> Any:
    if target.average is not None and target.maximum is not None and shape != "homogeneous":
        state = steer(forms, target)
        return None if state is None else state[0]
    return common_scale(forms, target)


def _explain(target: _Target, nearest: OverlapMap | None, tries: int, forms: PairForms) -> str:
    asked = [
        f"{name}={value:g}"
        for name, value in (("bar_omega", target.average), ("max_omega", target.maximum))
        if value is not None
    ]
    if nearest is None:
        limit = overlap_map(forms._replace(gaps=np.zeros_like(forms.gaps)), 1e-6)
        seen = (
            f"the last mixture drawn reaches at most an average of {limit.average:.3g} and a "
            f"maximum of {limit.maximum:.3g}"
        )
    else:
        seen = f"the nearest had average {nearest.average:.3g} and maximum {nearest.maximum:.3g}"
    return (
        f"no mixture with {' and '.join(asked)} was found in {tries} tries; {seen}. Ask for less "
        "overlap, for rounder or equal covariances (a smaller max_eccentricity, homogeneous=True: "
        "in many dimensions shapes alone tell components apart), or raise max_tries."
    )


def _check_shape(
    K: int, p: int, eccentricity: float, min_weight: Any, mean_range: Any, tries: int
) -> None:
    if K < 2 or p < 1:
        raise ValueError(f"n_components must be at least 2 and n_features 1; got {K} and {p}.")
    if not 0 <= eccentricity < 1:
        raise ValueError(f"max_eccentricity must be in [0, 1); got {eccentricity}.")
    if min_weight is not None and not 0 < min_weight <= 1 / K:
        raise ValueError(
            f"min_weight must be positive and at most 1/{K}, the equal weight; got {min_weight}."
        )
    if len(mean_range) != 2 or not mean_range[0] < mean_range[1]:
        raise ValueError(f"mean_range must be (low, high) with low < high; got {mean_range}.")
    if tries < 1:
        raise ValueError(f"max_tries must be positive; got {tries}.")


def inverse_box_cox(X: np.ndarray, power: Any) -> np.ndarray:
    """Bend each coordinate by (λ y + 1)^(1/λ), with y from zero; λ = 1 changes nothing."""
    powers = np.broadcast_to(np.asarray(power, dtype=float), X.shape[1])
    out = X.copy()
    for j, lam in enumerate(powers):
        if lam == 1:
            continue
        y = X[:, j] - X[:, j].min()
        if lam == 0:
            out[:, j] = np.exp(y)
            continue
        base = lam * y + 1  # x = (λy + 1)^(1/λ)
        if base.min() <= 0:
            raise ValueError(
                f"boxcox_lambda={lam:g} bends coordinate {j} beyond its pole: it spans "
                f"{y.max():.3g}, at most {-1 / lam:.3g} is possible."
            )
        out[:, j] = base ** (1 / lam)
    return out


def draw_outliers(
    n: int, mixture: GaussianMixtureSpec, alpha: float, rng: np.random.RandomState
) -> np.ndarray:
    """Return points of a box about the mixture, outside every component's (1 - α) ellipsoid."""
    K, p = mixture.means.shape
    spread = np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))
    reach = np.sqrt(chi2.isf(alpha, p))
    low = (mixture.means - 1.5 * reach * spread).min(axis=0)
    high = (mixture.means + 1.5 * reach * spread).max(axis=0)
    precisions = np.linalg.inv(mixture.covariances)
    found = np.empty((0, p))
    for _ in range(1000):
        if len(found) >= n:
            return found[:n]
        X = rng.uniform(low, high, size=(max(n, 100), p))
        gap = X[:, None, :] - mixture.means
        distance = np.einsum("nka,kab,nkb->nk", gap, precisions, gap)
        found = np.vstack([found, X[(distance > reach**2).all(axis=1)]])  # outside all ellipsoids
    raise ValueError(f"No room for {n} outliers beyond the components at alpha={alpha:g}.")


@checked
def make_overlap_dataset(
    n_samples: int,
    spec: GaussianMixtureSpec | None = None,
    *,
    n_noise_features: int = 0,
    n_outliers: int = 0,
    outlier_alpha: float = 1e-3,
    boxcox_lambda: Any = None,
    min_size: int | None = None,
    random_state: Any = None,
    **mixture: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a data set from a mixture with known overlap.

    Parameters
    ----------
    n_samples : int
        Points from the mixture.
    spec : GaussianMixtureSpec, optional
        The mixture; drawn with the further keywords by default.
    n_noise_features : int, default=0
        Columns to append that tell nothing: uniform over the range of the means.
    n_outliers : int, default=0
        Points to append that belong to no component; their label is -1.
    outlier_alpha : float, default=1e-3
        Outliers lie outside the (1 - outlier_alpha) ellipsoid of every component.
    boxcox_lambda : float or array-like of shape (n_features,), optional
        Power of an inverse Box-Cox transformation, after which clusters are no longer Gaussian;
        1 does nothing, 0 is an exponential.
    min_size : int, optional
        Fewest points a component must have; n_features + 1, if there are enough points, by
        default.
    random_state : int, RandomState instance or None, default=None
        Source of the data.
    **mixture : dict
        Handed to `make_overlap_mixture` when there is no spec.

    Returns
    -------
    X : ndarray of shape (n_samples + n_outliers, n_features + n_noise_features)
        The points, in random order.
    y : ndarray of shape (n_samples + n_outliers,)
        Their components, -1 for outliers.

    Examples
    --------
    >>> from octavo.cluster import make_overlap_dataset
    >>> X, y = make_overlap_dataset(
    ...     200, n_components=4, n_features=3, bar_omega=0.01, n_outliers=5, random_state=0
    ... )
    >>> print(X.shape, (y == -1).sum())
    (205, 3) 5
    """
    rng = check_random_state(random_state)
    if spec is None:
        spec = make_overlap_mixture(random_state=rng, **mixture)
    elif mixture:
        raise ValueError(f"spec is given: {sorted(mixture)} would have no effect.")
    if n_samples < 1 or n_outliers < 0 or n_noise_features < 0:
        raise ValueError(
            "n_samples must be positive, n_outliers and n_noise_features not negative."
        )
    if not 0 < outlier_alpha < 1:
        raise ValueError(f"outlier_alpha must lie between 0 and 1; got {outlier_alpha}.")
    K, p = spec.means.shape
    if min_size is None:
        min_size = p + 1 if n_samples * spec.weights.min() >= 2 * (p + 1) else 0
    X, y = spec.sample(n_samples, min_size=min_size, random_state=rng)
    X = np.vstack([X, draw_outliers(n_outliers, spec, outlier_alpha, rng)])
    y = np.append(y, np.full(n_outliers, -1))
    if boxcox_lambda is not None:
        X = inverse_box_cox(X, boxcox_lambda)
    noise = rng.uniform(spec.means.min(), spec.means.max(), size=(len(X), n_noise_features))
    order = rng.permutation(len(X))
    return np.hstack([X, noise])[order], y[order]


@checked
def make_overlap_blobs(
    n_samples: int = 100,
    n_features: int = 2,
    *,
    centers: int = 3,
    max_omega: float = 0.05,
    shuffle: bool = True,
    random_state: Any = None,
    return_centers: bool = False,
) -> tuple[np.ndarray, ...]:
    """Draw round clusters of one size, as `sklearn.datasets.make_blobs`, of known difficulty.

    Parameters
    ----------
    n_samples, n_features : int, default=100, 2
        Size of the data.
    centers : int, default=3
        Number of clusters.
    max_omega : float, default=0.05
        Largest overlap of two clusters; it takes the place of ``cluster_std``.
    shuffle : bool, default=True
        Whether points come in random order, or cluster by cluster.
    random_state : int, RandomState instance or None, default=None
        Source of the data.
    return_centers : bool, default=False
        Whether to return the centres too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points.
    y : ndarray of shape (n_samples,)
        Their clusters.
    centers : ndarray of shape (centers, n_features)
        The centres, if asked for.

    Examples
    --------
    >>> from octavo.cluster import make_overlap_blobs
    >>> X, y = make_overlap_blobs(150, centers=4, max_omega=0.01, random_state=0)
    >>> print(X.shape, y.max())
    (150, 2) 3
    """
    rng = check_random_state(random_state)
    spec = make_overlap_mixture(
        centers,
        n_features,
        max_omega=max_omega,
        spherical=True,
        homogeneous=True,
        mean_range=(-10.0, 10.0),
        random_state=rng,
    )
    X, y = spec.sample(n_samples, random_state=rng)
    if not shuffle:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    return (X, y, spec.means) if return_centers else (X, y)
