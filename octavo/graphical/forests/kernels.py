"""Kernel densities of single variables and of pairs, at points.

Numbers have a Gaussian kernel. A category has the kernel (1 - δ) 1[c = c'] + δ / K: frequencies
with one more row that is spread over all K categories, so that nothing has probability zero. Pairs
have product kernels: the marginal of a pair's density is the density of one variable with the
pair's bandwidth, for numbers and categories alike.

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, sections 3.1 and 6.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.forests.columns import column_name

FAR = 1e150  # bandwidths; farther away the square would overflow
CELLS = 2_000_000  # entries of the largest intermediate matrix
BANDWIDTHS = (1e-6, 1e6)  # in units of a column's range
LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


class KernelSample(NamedTuple):
    """The rows that kernels stand on.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Numbers on the scale on which their range is [0, 1]; categories as 0, 1, ...
    h : ndarray of shape (2, d)
        Bandwidths of single variables and of pairs on that scale; δ for categories.
    n_categories : ndarray of shape (d,)
        0 for numbers.
    low, span : ndarray of shape (d,)
        The scale: a number x stands as (x - low) / span.
    """

    values: Floats
    h: Floats
    n_categories: Ints
    low: Floats
    span: Floats

    def scaled(self, Z: Floats) -> Floats:
        """Return rows on this scale."""
        with np.errstate(over="ignore"):
            return np.clip((Z - self.low) / self.span, -FAR, FAR)


def plugin_bandwidths(values: Floats) -> Floats:
    """Return 1.06 min(sd, IQR / 1.34) n^(-1/5) and n^(-1/6) (section 6.1 with β = 2)."""
    n = len(values)
    deviation = values.std(axis=0, ddof=1) if n > 1 else np.zeros(values.shape[1])
    quartiles = np.percentile(values, [25, 75], axis=0)
    robust = (quartiles[1] - quartiles[0]) / 1.34
    spread = np.where(robust > 0, np.minimum(deviation, robust), deviation)
    return 1.06 * spread * np.array([[n ** (-1 / 5)], [n ** (-1 / 6)]])


def kernel_sample(
    Z: Floats,
    n_categories: Ints,
    bandwidth: Any = "plugin",
    scale: KernelSample | None = None,
    names: Any = None,
) -> KernelSample:
    """Return rows with their scale and bandwidths; `scale` lends its own, as to a second half."""
    n, d = Z.shape
    numbers = n_categories == 0
    if scale is None:
        low, high = np.where(numbers, Z.min(axis=0), 0.0), np.where(numbers, Z.max(axis=0), 1.0)
        with np.errstate(over="ignore"):
            span = high - low
        for k in np.flatnonzero(~((span > 0) & np.isfinite(span))).tolist():
            told = column_name(k, names)
            if np.isinf(span[k]):
                raise ValueError(f"{told} has a range of {low[k]:.3g} to {high[k]:.3g}: too wide.")
            raise ValueError(
                f"{told} is constant in the rows that densities are fitted to (value {low[k]:.6g}):"
                " a constant has no density. Drop it, or make it a category."
            )
    else:
        low, span = scale.low, scale.span
    sample = KernelSample(Z, np.empty((2, d)), n_categories, low, span)
    values = sample.scaled(Z)
    h = plugin_bandwidths(values)
    if not isinstance(bandwidth, str):
        h = given_bandwidths(bandwidth, d) / span
        bad = numbers & ((h < BANDWIDTHS[0]) | (h > BANDWIDTHS[1])).any(axis=0)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"bandwidth must lie between a millionth of a column's range and a million times "
                f"it; {column_name(k, names)} has a range of {span[k]:.3g} and got "
                f"{h[:, k] * span[k]}."
            )
    elif scale is not None:  # a second half in which a column does not vary
        h = np.where(h > 0, h, scale.h)
    return sample._replace(values=values, h=np.where(numbers, h, 1.0 / (n + 1)))


def given_bandwidths(bandwidth: Any, d: int) -> Floats:
    """Return a user's bandwidths as (2, d)."""
    try:
        h = np.asarray(bandwidth, dtype=float)
    except (TypeError, ValueError):
        h = np.array(np.nan)
    if h.shape not in ((), (1,), (d,), (2, d)) or not (np.isfinite(h).all() and (h > 0).all()):
        raise ValueError(
            f"bandwidth must be 'plugin', or positive: one number, one a column ({d}) or a "
            f"(2, {d}) array of univariate and bivariate ones; got {bandwidth!r}."
        )
    return np.broadcast_to(h, (2, d)).copy()


def log_kernel(sample: KernelSample, k: int, points: Floats, h: float) -> Floats:
    """Return the log kernels of column k at points: (n_points, n)."""
    K = sample.n_categories[k]
    if K:
        same = points[:, None] == sample.values[None, :, k]
        # frequencies with one more row, spread over all K categories
        return np.where(same, np.log1p(-h * (1 - 1 / K)), np.log(h / K))
    u = (points[:, None] - sample.values[None, :, k]) / h
    np.clip(u, -FAR, FAR, out=u)
    u *= u
    u *= -0.5
    u -= np.log(h) + LOG_ROOT_2PI
    return u


def log_mean(logs: Floats) -> Floats:
    """Return the log of the mean of each row's exponentials; spoils its argument."""
    top = logs.max(axis=1)
    logs -= top[:, None]
    np.exp(logs, out=logs)
    # the largest is taken out, so that far points do not have log 0
    return np.log(logs.mean(axis=1)) + top


def chunks(n_points: int, n: int) -> list[slice]:
    """Return slices of points whose kernel matrices are of bounded size."""
    size = max(1, CELLS // max(n, 1))
    return [slice(at, at + size) for at in range(0, n_points, size)]


def column_log_density(sample: KernelSample, k: int, points: Floats, pair: bool) -> Floats:
    """Return log p(x_k), Eq. (7), on the sample's scale; with `pair`, by the pair's bandwidth."""
    h = sample.h[int(pair), k]
    parts = chunks(len(points), len(sample.values))
    return np.concatenate([log_mean(log_kernel(sample, k, points[at, k], h)) for at in parts])


def pair_log_density(sample: KernelSample, i: int, j: int, points: Floats) -> Floats:
    """Return log p(x_i, x_j), Eq. (6), on the sample's scale."""
    found = []
    for at in chunks(len(points), len(sample.values)):
        logs = log_kernel(sample, i, points[at, i], sample.h[1, i])
        logs += log_kernel(sample, j, points[at, j], sample.h[1, j])
        found.append(log_mean(logs))
    return np.concatenate(found)


class ForestTerms(NamedTuple):
    """Log densities of a forest's pieces at points.

    Attributes
    ----------
    columns : ndarray of shape (n_points, d)
        log p(x_k), in the data's own units.
    edges : ndarray of shape (n_points, n_edges)
        log p(x_i, x_j) / (p(x_i) p(x_j)).
    """

    columns: Floats
    edges: Floats


def forest_terms(sample: KernelSample, edges: Any, Z: Floats, consistent: bool) -> ForestTerms:
    """Return the logs of the factors of Eq. (1) at rows given in the data's units."""
    points = sample.scaled(Z)
    d = Z.shape[1]
    single = np.column_stack([column_log_density(sample, k, points, consistent) for k in range(d)])
    joint = np.empty((len(Z), len(edges)))
    for e, (i, j) in enumerate(edges):
        # p(x_i, x_j) / (p(x_i) p(x_j)) of Eq. (1)
        joint[:, e] = pair_log_density(sample, i, j, points) - single[:, i] - single[:, j]
    return ForestTerms(single - np.log(sample.span), joint)  # densities in the data's units
