"""Mutual informations of all pairs of columns, and the cross-entropies of a second half.

Seven estimates: on a grid with the marginals of section 6.1 ("fast", "medium", "slow"), as an
average over the rows themselves ("sample", Eq. 34) or over draws from the pair's density
("monte-carlo"), of a Gaussian ("gaussian"), and of frequencies ("discrete", which makes a classical
Chow-Liu tree).

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, sections 3.1, 3.3, 6.1 and appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.graphical.forests.columns import (
    column_name,
    encode_columns,
    find_categories,
    is_frame,
)
from octavo.graphical.forests.grids import (
    HOST,
    Backend,
    backend_of,
    column_entropies,
    column_sums,
    marginal_entropies,
    pair_sums,
)
from octavo.graphical.forests.kernels import (
    CELLS,
    KernelSample,
    column_log_density,
    kernel_sample,
    log_kernel,
)

__all__ = ["mutual_information_matrix"]

MI = {"fast", "medium", "slow", "sample", "monte-carlo", "gaussian", "discrete"}
LARGEST_GRID = 4096
N_DRAWS = 1000


def sample_information(
    sample: KernelSample,
    mi: str,
    grid: int,
    backend: Backend = HOST,
    batch_size: int | None = None,
    random: Any = None,
    step: Callable[[], Any] | None = None,
) -> Floats:
    """Return the mutual informations of all pairs; zeros on the diagonal."""
    if mi == "gaussian":
        M = gaussian_information(sample)
    elif mi in ("sample", "monte-carlo"):
        points = sample.values if mi == "sample" else drawn_points(sample, random)
        M = average_log_ratios(sample, points)
    else:
        M = pair_sums(sample, None, grid, backend, batch_size, step)
        if mi == "fast":
            single = column_entropies(sample, grid, backend)
            M -= single[:, None] + single  # univariate bandwidths for the marginals
        elif mi == "slow":
            single = marginal_entropies(sample, grid, backend)
            M -= single + single.T  # the marginals of the bivariate grids themselves
        else:
            C = column_sums(sample, sample, grid, backend, False, False)
            M -= C + C.T  # univariate densities under the bivariate ones
    np.fill_diagonal(M, 0.0)
    return (M + M.T) / 2


def cross_entropies(
    first: KernelSample,
    second: KernelSample,
    grid: int,
    consistent: bool,
    backend: Backend = HOST,
    batch_size: int | None = None,
    step: Callable[[], Any] | None = None,
) -> Floats:
    """Return ∫ p2_ij log p1_ij / (p1_i p1_j) of all pairs, Eq. (10); zeros on the diagonal."""
    M = pair_sums(second, first, grid, backend, batch_size, step)
    C = column_sums(second, first, grid, backend, consistent, True)
    M -= C + C.T  # log p1_i + log p1_j under p2_ij
    np.fill_diagonal(M, 0.0)
    return M


def gaussian_information(sample: KernelSample) -> Floats:
    """Return -log(1 - ρ²) / 2."""
    if sample.n_categories.any():
        k = int(np.flatnonzero(sample.n_categories)[0])
        raise ValueError(f"mi='gaussian' needs numbers, but {column_name(k)} holds categories.")
    centred = sample.values - sample.values.mean(axis=0)
    unit = centred / np.sqrt((centred**2).sum(axis=0))
    rho = np.clip(unit.T @ unit, -1.0, 1.0)
    # the mutual information of two normal variables
    return -0.5 * np.log1p(-np.minimum(rho**2, 1.0 - 1e-15))


def drawn_points(sample: KernelSample, random: Any) -> Floats:
    """Draw rows whose pairs have, each, the density of that pair (appendix B).

    One draw of a row, and of a kernel's noise for each column, serves all pairs.
    """
    rows = sample.values[random.randint(0, len(sample.values), N_DRAWS)]
    # rows with a pair's kernels: any two columns are a draw of their pair's density
    noise = random.standard_normal(rows.shape) * sample.h[1]
    return rows + np.where(sample.n_categories == 0, noise, 0.0)


def average_log_ratios(sample: KernelSample, points: Floats) -> Floats:
    """Return the means over points of log p(x_i, x_j) / (p(x_i) p(x_j)), Eq. (34)."""
    n, d = sample.values.shape
    plain = sample._replace(h=np.where(sample.n_categories > 0, 1e-300, sample.h))
    single = [column_log_density(plain, k, points, False).mean() for k in range(d)]
    joint = np.zeros((d, d))
    size = max(1, CELLS // (d * max(n, d)))
    for at in range(0, len(points), size):
        some = points[at : at + size]
        G = np.stack(
            [np.exp(log_kernel(plain, k, some[:, k], plain.h[1, k])) for k in range(d)], axis=1
        )
        P = G @ G.swapaxes(1, 2) / n  # Eq. (6) at the points, all pairs at once
        joint += np.log(P.clip(1e-300)).sum(axis=0)
    return joint / len(points) - np.add.outer(single, single)


def table_of(X: Any, discrete: bool) -> tuple[Floats, list[Any], Any]:
    """Return a table of doubles, the categories of its columns and their names."""
    names = list(X.columns) if is_frame(X) else None
    if names is None:
        X = check_array(X, dtype=np.float64)
    categories = find_categories(X, discrete)
    return encode_columns(X, categories), categories, names


def sizes_of(categories: list[Any]) -> Any:
    """Return the number of categories of each column, 0 for numbers."""
    return np.array([0 if known is None else len(known) for known in categories])


@checked
@validate_params(
    {
        "X": ["array-like"],
        "mi": [StrOptions(MI)],
        "grid": [Interval(Integral, 2, LARGEST_GRID, closed="both")],
        "bandwidth": [
            StrOptions({"plugin"}),
            "array-like",
            Interval(Real, 0, None, closed="neither"),
        ],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def mutual_information_matrix(
    X,
    mi="medium",
    grid=128,
    *,
    bandwidth="plugin",
    device="cpu",
    batch_size=None,
    random_state=None,
):
    """Estimate the mutual information of every pair of columns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers. Columns of a data frame that hold text, booleans or categories are categories.
    mi : str, default="medium"
        The estimate. "medium", "fast" and "slow" sum over a grid of kernel densities: "medium"
        has the logarithm of densities of single columns with their own bandwidth; "fast" has
        their entropies, and may be negative; "slow" has the marginals of the pair's density,
        and is never negative. "sample" averages over the rows, "monte-carlo" over 1,000 draws
        from the pair's density. "gaussian" is that of the correlation. "discrete" takes every
        column as categories and has frequencies.
    grid : int, default=128
        Points of a column, from its least to its largest value.
    bandwidth : "plugin" or array-like, default="plugin"
        In units of X: one number, one a column, or a (2, n_features) array of those of single
        columns and of pairs. "plugin" is 1.06 min(sd, IQR/1.34) times n^(-1/5) and n^(-1/6).
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the sums over grids are computed: "cuda" needs PyTorch and computes in single
        precision; "auto" takes a card where there is one.
    batch_size : int or None, default=None
        Columns whose grids are in memory together: a block has (batch_size * grid)² numbers.
    random_state : int, RandomState instance or None, default=None
        Of "monte-carlo".

    Returns
    -------
    ndarray of shape (n_features, n_features)
        In nats, symmetric, with zeros on the diagonal.

    Notes
    -----
    Kernel densities smooth, so that strong dependences come out too small and absent ones a little
    above zero ("fast": below); a forest asks for their order alone.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import mutual_information_matrix
    >>> rng = np.random.RandomState(0)
    >>> x = rng.normal(size=(300, 1))
    >>> X = np.hstack([x, x**2 + 0.3 * rng.normal(size=(300, 1)), rng.normal(size=(300, 1))])
    >>> mutual_information_matrix(X).round(2)
    array([[0.  , 0.32, 0.01],
           [0.32, 0.  , 0.01],
           [0.01, 0.01, 0.  ]])
    """
    Z, categories, names = table_of(X, mi == "discrete")
    if len(Z) < 2:
        raise ValueError(f"Mutual informations need at least two rows, got n_samples={len(Z)}.")
    sample = kernel_sample(Z, sizes_of(categories), bandwidth, names=names)
    return sample_information(
        sample, mi, grid, backend_of(device), batch_size, check_random_state(random_state)
    )
