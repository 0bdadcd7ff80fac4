"""Depth from two views: the costs of Birchfield and Tomasi, and their truncated convex energy.

Section 7.2 of M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated
Convex Models.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.energies.estimators import (
    ENERGY_CONSTRAINTS,
    keep_result,
    minimize_with_progress,
)
from octavo.graphical.energies.problem import grid_mrf

__all__ = ["StereoMatcher", "stereo_costs"]


@checked
def stereo_costs(
    left: ArrayLike, right: ArrayLike, n_disparities: int = 16, truncation: float = 15.0
) -> Floats:
    """Return the cost of each disparity of each pixel, insensitive to sampling.

    Birchfield and Tomasi (1998): the distance of an intensity to the range that the other image
    takes within half a pixel, the smaller of both directions, cut at `truncation`.

    Parameters
    ----------
    left, right : array-like of shape (height, width)
        Rectified views in grey; column x of the left is column x - disparity of the right.
    n_disparities : int, default=16
        Disparities 0, 1, ..., n_disparities - 1, at most 1024.
    truncation : float, default=15.0
        The largest cost, also of matches outside the right image.

    Returns
    -------
    costs : ndarray of shape (height, width, n_disparities)
        Unary costs for `grid_mrf`.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import stereo_costs
    >>> right = np.random.default_rng(0).uniform(0, 255, (4, 12))
    >>> left = np.roll(right, 2, axis=1)
    >>> costs = stereo_costs(left, right, 4)
    >>> costs.shape, float(costs[:, 2:, 2].max())
    ((4, 12, 4), 0.0)
    """
    first, second = real_array(left, "left"), real_array(right, "right")
    if first.ndim != 2 or first.shape != second.shape or not first.size:
        raise ValueError(
            f"left and right must be images of one shape (height, width); got {first.shape} and "
            f"{second.shape}."
        )
    whole = isinstance(n_disparities, (int, np.integer)) and not isinstance(n_disparities, bool)
    if not whole or not 1 <= n_disparities <= 1024:
        raise ValueError(f"n_disparities must be an int of 1 to 1024; got {n_disparities!r}.")
    if not 0 < truncation < np.inf:
        raise ValueError(f"truncation must be a finite number above 0; got {truncation!r}.")
    low_first, high_first = _half_pixel_range(first)
    low_second, high_second = _half_pixel_range(second)
    costs = np.full((*first.shape, int(n_disparities)), float(truncation))
    for i in range(min(int(n_disparities), first.shape[1])):
        here, there = slice(i, None), slice(None, first.shape[1] - i)
        # how far the intensity lies outside the other's half pixel
        to_second = _outside(first[:, here], low_second[:, there], high_second[:, there])
        to_first = _outside(second[:, there], low_first[:, here], high_first[:, here])
        # symmetric, and truncated for pixels without a partner
        costs[:, here, i] = np.minimum(np.minimum(to_second, to_first), truncation)
    return costs


def _half_pixel_range(image: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest intensity within half a pixel along the row."""
    padded = np.pad(image, ((0, 0), (1, 1)), mode="edge")
    halves = np.stack(
        [image, 0.5 * image + 0.5 * padded[:, :-2], 0.5 * image + 0.5 * padded[:, 2:]]
    )
    return halves.min(axis=0), halves.max(axis=0)


def _outside(value: Floats, low: Floats, high: Floats) -> Floats:
    return np.maximum(0.0, np.maximum(value - high, low - value))


class StereoMatcher(CallbackSupportMixin, SoundEstimator):
    """Disparities of two rectified views, smooth but for jumps between objects.

    For demonstration and small images: dense stereo in production is semi-global matching or a
    network (OpenCV), many times faster.

    Parameters
    ----------
    n_disparities : int, default=16
        Disparities 0 to n_disparities - 1, at most 256.
    weight : float, default=10.0
        Strength of smoothing, in units of intensity.
    truncation : float or None, default=3.0
        The largest difference of neighbouring disparities that counts.
    distance : {"linear", "quadratic"} or callable, default="linear"
        Difference of disparities: |x|, x² or a convex even function.
    cost_truncation : float, default=15.0
        The largest cost of a match; for intensities of 0 to 255.
    method : str, default="range_expansion"
        Any of `minimize_mrf`; range expansion starts from what range swap finds.
    interval : int or "auto", default="auto"
        Labels of an interval of range moves.
    max_sweeps : int, default=20
        Most sweeps over all moves.

    Attributes
    ----------
    labels_ : ndarray of int of shape (height, width)
        The disparity of each pixel of the left view.
    objective_ : float
        The energy of the disparities.
    lower_bound_ : float
        No disparities have a smaller energy.
    result_ : MRFResult
        All that `minimize_mrf` returned.

    References
    ----------
    M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
    Journal of Machine Learning Research 12, 31-67.

    Examples
    --------
    >>> from octavo.data import make_random_dot_stereogram
    >>> from octavo.graphical import StereoMatcher
    >>> scene = make_random_dot_stereogram((24, 32), n_disparities=6, random_state=0)
    >>> found = StereoMatcher(n_disparities=6).fit_predict(scene.left, scene.right)
    >>> bool((abs(found - scene.disparity) <= 1).mean() > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ENERGY_CONSTRAINTS,
        "n_disparities": [Interval(Integral, 1, 256, closed="both")],
        "cost_truncation": [Interval(Real, 0, 1e100, closed="neither")],
    }

    def __init__(
        self,
        n_disparities: int = 16,
        weight: float = 10.0,
        truncation: float | None = 3.0,
        distance: Any = "linear",
        cost_truncation: float = 15.0,
        method: str = "range_expansion",
        interval: int | str = "auto",
        max_sweeps: int = 20,
    ) -> None:
        self.n_disparities = n_disparities
        self.weight = weight
        self.truncation = truncation
        self.distance = distance
        self.cost_truncation = cost_truncation
        self.method = method
        self.interval = interval
        self.max_sweeps = max_sweeps

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the disparities of two views.

        Parameters
        ----------
        X : array-like of shape (height, width) or (2, height, width)
            The left view, or the left and the right.
        y : array-like of shape (height, width), default=None
            The right view where X is the left alone.

        Returns
        -------
        self : StereoMatcher
            The fitted estimator.
        """
        left, right = self._views(X, y)
        unary = stereo_costs(left, right, int(self.n_disparities), float(self.cost_truncation))
        mrf = grid_mrf(unary, self.weight, self.distance, self.truncation)
        keep_result(self, minimize_with_progress(self, mrf, X, y))
        return self

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> Ints:
        """Find the disparities of two views and return them.

        Parameters
        ----------
        X : array-like of shape (height, width) or (2, height, width)
            The left view, or the left and the right.
        y : array-like of shape (height, width), default=None
            The right view where X is the left alone.

        Returns
        -------
        disparity : ndarray of int of shape (height, width)
            Of the left view.
        """
        return self.fit(X, y).labels_

    @staticmethod
    def _views(X: Any, y: Any) -> tuple[Any, Any]:
        if y is not None:
            return X, y
        views = real_array(X, "X")
        if views.ndim != 3 or len(views) != 2:
            raise ValueError(
                "X must hold two views, shape (2, height, width), where y is not given; "
                f"got {views.shape}."
            )
        return views[0], views[1]

    def warp(self, X: ArrayLike) -> Floats:
        """Return the left view as the right one and the disparities make it.

        Parameters
        ----------
        X : array-like of shape (height, width)
            The right view, or anything that is known of its pixels.

        Returns
        -------
        left : ndarray of shape (height, width)
            Column x is column x - disparity of X; the first column where that is outside.
        """
        check_is_fitted(self, "labels_")
        values = real_array(X, "X")
        if values.shape != self.labels_.shape:
            raise ValueError(
                f"X must have the shape of the disparities, {self.labels_.shape}; "
                f"got {values.shape}."
            )
        columns = np.maximum(np.arange(values.shape[1]) - self.labels_, 0)
        return np.take_along_axis(values, columns, axis=1)
