"""What goes into the chains of the family, and how their draws are summed up.

Section 5.1 of Henao and Winther (2011): medians with the quantiles 0.025 and 0.975.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import jarque_bera
from sklearn.utils.validation import validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.diagnostics import effective_sample_size, split_rhat

SMALLEST_SAMPLE = 20
MATCHED_DRAWS = 500  # at most so many draws are matched to one another, or averaged over
GAUSSIAN_LEVEL = 0.01  # of the test of Jarque and Bera
LARGEST = 1e150  # of a standard deviation
DEPENDENT = 1e-10  # smallest eigenvalue of correlations, per variable


class Scaled(NamedTuple):
    """A table with mean zero and variance one.

    Attributes
    ----------
    X : ndarray of shape (n_samples, d)
        Standardised rows; zero where an entry is missing.
    mean, scale : ndarray of shape (d,)
        What was subtracted, and divided by.
    missing : ndarray of int of shape (n_missing, 2)
        (row, column) of entries that are missing.
    """

    X: Floats
    mean: Floats
    scale: Floats
    missing: np.ndarray


def check_table(
    estimator: Any,
    X: Any,
    *,
    allow_nan: bool = False,
    min_features: int = 2,
    independent: bool = False,
) -> Floats:
    """Return the table as floats; refuse one that is too small for the family."""
    X = validate_data(
        estimator, X, dtype=np.float64, ensure_all_finite="allow-nan" if allow_nan else True
    )
    n, d = X.shape
    if d < min_features:
        raise ValueError(f"At least {min_features} columns are needed; got n_features={d}.")
    if n < SMALLEST_SAMPLE:
        raise ValueError(f"At least {SMALLEST_SAMPLE} rows are needed; got n_samples={n}.")
    if not independent:
        return X
    Z = standardized(X).X
    values, vectors = np.linalg.eigh(Z.T @ Z / n)
    if values[0] < DEPENDENT * d:
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        raise ValueError(
            f"Columns must not be collinear: column {worst} follows from the others. Leave it out."
        )
    return X


def standardized(X: Floats) -> Scaled:
    """Return a table with mean zero and variance one; a constant column is an error."""
    gone = np.isnan(X)
    if gone.all(axis=0).any():
        column = int(np.flatnonzero(gone.all(axis=0))[0])
        raise ValueError(f"Column {column} has no observed entry.")
    largest = np.nanmax(np.abs(X), axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)  # squares of huge numbers are none
    Z = X / unit
    mean = np.nanmean(Z, axis=0)
    spread = np.nanstd(Z, axis=0)
    constant = spread <= 1e-12
    if constant.any():
        column = int(np.flatnonzero(constant)[0])
        raise ValueError(f"Column {column} is constant: it has no causes and no effects to find.")
    size = spread * unit
    if size.max() > LARGEST or size.min() < 1.0 / LARGEST:
        column = int(np.argmax(np.abs(np.log(size))))
        raise ValueError(
            f"Column {column} has a standard deviation of {size[column]:.2g}, whose square no "
            "double holds; rescale it."
        )
    Z = np.where(gone, 0.0, (Z - mean) / spread)
    return Scaled(Z, mean * unit, spread * unit, np.argwhere(gone))


def rescale(X: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return rows on the scale of a fit."""
    with np.errstate(over="ignore"):
        Z = (X - mean) / scale
    if np.isinf(Z).any():
        raise ValueError("X lies beyond what doubles hold on the scale of the fitted data.")
    return Z


def thinned(n_draws: int, most: int = MATCHED_DRAWS) -> np.ndarray:
    """Return the numbers of at most so many draws, evenly spaced."""
    return np.unique(np.linspace(0, n_draws - 1, min(n_draws, most)).round().astype(int))


def summary(draws: Floats) -> tuple[Floats, Floats]:
    """Return the median of draws and their quantiles 0.025 and 0.975."""
    low, middle, high = np.quantile(draws, [0.025, 0.5, 0.975], axis=0)
    return middle, np.array([low, high])


def diagnostics(chains: list[Floats]) -> tuple[Any, Any]:
    """Return R-hat and effective sizes of arrays of quantities, one array of draws per chain."""
    draws = np.array(chains)
    if draws.shape[1] < 4:
        return np.full(draws.shape[2:], np.nan), np.full(draws.shape[2:], np.nan)
    return split_rhat(draws), effective_sample_size(draws)


def match_factors(draws: Floats) -> tuple[Floats, np.ndarray]:
    """Return loadings with columns exchanged and turned to agree with the last draw.

    The order and the signs of factors are arbitrary in each draw; assignments maximise the sums of
    absolute cosines. Also returns the places from which columns were taken.
    """
    reference = draws[-1]
    size = np.maximum(np.linalg.norm(reference, axis=0), 1e-12)
    matched, places = np.empty_like(draws), np.empty((len(draws), draws.shape[2]), dtype=int)
    for t, C in enumerate(draws):
        cosines = (reference / size).T @ (C / np.maximum(np.linalg.norm(C, axis=0), 1e-12))
        _, columns = linear_sum_assignment(-np.abs(cosines))
        signs = np.sign(cosines[np.arange(len(columns)), columns])
        matched[t] = C[:, columns] * np.where(signs == 0.0, 1.0, signs)
        places[t] = columns
    return matched, places


def warn_if_gaussian(residuals: Floats, what: str) -> None:
    """Warn where nothing tells residuals from normal ones: orders are then not identified."""
    p = np.array([jarque_bera(column).pvalue for column in residuals.T])
    if np.all(p > GAUSSIAN_LEVEL):
        warnings.warn(
            f"All {what} look Gaussian (smallest p-value of Jarque and Bera's test "
            f"{p.min():.2g}): linear models of Gaussian variables do not tell causes from effects.",
            UserWarning,
            stacklevel=3,
        )


class CausalEdge(NamedTuple):
    """A line of a table of edges.

    Attributes
    ----------
    cause, effect : int
        Columns.
    probability : float
        Posterior probability of the edge.
    median, low, high : float
        Of the effect, in the data's units, with the 95 % credible interval.
    """

    cause: int
    effect: int
    probability: float
    median: float
    low: float
    high: float


def edge_rows(probability: Floats, median: Floats, interval: Floats) -> list[CausalEdge]:
    """Return the edges with a positive probability, most probable first."""
    effects, causes = np.nonzero(probability)
    rows = [
        CausalEdge(
            int(j),
            int(i),
            float(probability[i, j]),
            float(median[i, j]),
            float(interval[0, i, j]),
            float(interval[1, i, j]),
        )
        for i, j in zip(effects, causes, strict=True)
    ]
    return sorted(rows, key=lambda row: (-row.probability, row.cause, row.effect))
