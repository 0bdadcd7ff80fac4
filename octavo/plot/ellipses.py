"""Covariances as ellipses."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Ellipse


def covariance_ellipse(
    mean: Any, cov: Any, pair: list[int], reach: float = 1.0, **style: Any
) -> Ellipse:
    """Return the ellipse of `reach` standard deviations in two coordinates, not filled."""
    values, vectors = np.linalg.eigh(np.asarray(cov)[np.ix_(pair, pair)])
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    width, height = 2 * reach * np.sqrt(np.maximum(values[::-1], 0.0))
    across, up = (float(mean[k]) for k in pair)
    return Ellipse((across, up), width, height, angle=angle, **{"fill": False, **style})
