"""The first step: the rows whose estimated density is at least the level (section 2.2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.cluster.level_sets.densities import (
    Density,
    GivenDensities,
    KernelDensities,
    NeighbourDensities,
    resolve_bandwidth,
)
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import check_squares

MANY_COLUMNS = 6  # above, a kernel density says little where the data are


class LevelSet(NamedTuple):
    """Densities of all rows, the level, the rows at or above it, and what answers elsewhere."""

    density: Floats
    level: float
    kept: Ints
    density_at: Density
    bandwidth: float


def check_points(X: Floats) -> None:
    """Refuse points whose squared distances overflow or vanish."""
    check_squares(X)
    spread = float((X.max(axis=0) - X.min(axis=0)).max())
    if 0.0 < spread < 1e-140:
        raise ValueError(
            f"X is too small: squared distances vanish. Its columns spread over {spread:.3g}; "
            "scale it, for instance with sklearn.preprocessing.StandardScaler."
        )


def densities_of(
    X: Floats, density: str | Callable[[Any], Any], bandwidth: str | float, rng: Any, workers: int
) -> tuple[Floats, Density, float]:
    """Return the density of every row, a function for other points, and the bandwidth."""
    if callable(density):
        given = GivenDensities(X, density)
        return given.rows(), given, np.nan
    if X.shape[1] > MANY_COLUMNS:
        warnings.warn(
            f"Densities in {X.shape[1]} columns are unreliable, and so are their level sets: "
            f"reduce X to at most {MANY_COLUMNS} columns, for instance with PCA, or give a density "
            "of your own.",
            UserWarning,
            stacklevel=2,
        )
    if density == "knn":
        near = NeighbourDensities(X, workers)
        return near.rows(), near, np.nan
    width = resolve_bandwidth(X, bandwidth)
    kernel = KernelDensities(X, width, check_random_state(rng))
    return kernel.rows(), kernel, width


def level_of(values: Floats, level: float | None, drop_fraction: float) -> float:
    """Return the level: as given, or the quantile below which a fraction of the rows lies."""
    if level is not None:
        return float(level)
    return float(np.quantile(values, drop_fraction)) if drop_fraction > 0.0 else 0.0


def extract(
    X: Floats,
    *,
    level: float | None = None,
    drop_fraction: float = 0.1,
    density: str | Callable[[Any], Any] = "kde",
    bandwidth: str | float = "scott",
    rng: Any = None,
    workers: int = 1,
) -> LevelSet:
    """Return the rows at or above a level of their density; see `LevelSetSpectralClustering`."""
    check_points(X)
    values, density_at, width = densities_of(X, density, bandwidth, rng, workers)
    return at_or_above(values, level, drop_fraction, density_at, width)


def at_or_above(
    values: Floats, level: Any, drop_fraction: float, density_at: Any, width: float
) -> LevelSet:
    """Return the rows whose density is at least the level."""
    t = level_of(values, level, drop_fraction)
    kept = np.flatnonzero(values >= t)  # J(n) of section 2.1
    if len(kept) == 0:
        raise ValueError(
            f"All {len(values)} rows lie below level={t:.4g}: the largest density is "
            f"{values.max():.4g}. Lower level, or leave it None and set drop_fraction."
        )
    return LevelSet(values, t, kept, density_at, width)
