"""From a table to uncertain moments, and from a direction to a guarantee or a threshold.

What the high-probability machine and the one that chooses its uncertainty have in common.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.kernels.gram import Kernel
from octavo.svm.minimax.base import KERNEL_CONSTRAINTS, MomentClassifier, TrainingRows
from octavo.svm.minimax.curve import Hyperplane, mean_difference
from octavo.svm.minimax.moment_bounds import (
    MomentUncertainty,
    bootstrap_deviation,
    largest_uncertainty,
    moment_uncertainty,
    worst_case_error,
)
from octavo.svm.minimax.moment_space import ClassMoments, FeatureSpace, class_moments, linear_space
from octavo.svm.minimax.robust_hyperplanes import Watch, robust_hyperplane

__all__ = ["accuracy_threshold"]


@checked
def accuracy_threshold(
    scores: ArrayLike, y: ArrayLike, near: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the threshold that parts two classes of scores with the fewest errors.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Projections of the rows.
    y : array-like of shape (n_samples,)
        True or 1 for the rows that should be at or above the threshold.
    near : float, default=0.0
        Among equally good thresholds the one closest to this is taken.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.

    Returns
    -------
    threshold : float
        Halfway between two scores, or just beyond the smallest or largest.

    Examples
    --------
    >>> from octavo.svm import accuracy_threshold
    >>> accuracy_threshold([0.0, 1.0, 2.0, 5.0], [0, 0, 1, 1])
    1.5
    """
    scores = np.asarray(scores, dtype=np.float64)
    weight = np.ones_like(scores) if sample_weight is None else np.asarray(sample_weight, float)
    signed = np.where(np.asarray(y).astype(bool), weight, -weight)
    distinct, where = np.unique(scores, return_inverse=True)
    gain = np.bincount(where, weights=signed, minlength=len(distinct))
    # Lost by moving the threshold up past the first k scores.
    lost = np.concatenate([[0.0], np.cumsum(gain)])
    beyond = 0.5 * max(float(np.ptp(distinct)) / len(distinct), np.finfo(float).tiny)
    places = np.concatenate(
        [[distinct[0] - beyond], (distinct[:-1] + distinct[1:]) / 2.0, [distinct[-1] + beyond]]
    )
    best = np.flatnonzero(lost <= lost.min() + 1e-12 * weight.sum())
    return float(places[best[np.abs(places[best] - near).argmin()]])


class Prepared(NamedTuple):
    """The rows of a fit, reduced to what every ν needs."""

    space: FeatureSpace
    kernel: Kernel | None
    zero: ClassMoments
    one: ClassMoments
    full: MomentUncertainty
    radius: float
    nu_max: float


class RobustClassifier(CallbackSupportMixin, MomentClassifier):
    """What the machine with given uncertainty and the one that chooses it have in common."""

    delta: float
    radius: str | float
    bound: str
    bias: str
    norm: str
    tol: float
    max_iter: int
    n_bootstrap: int

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "radius": [StrOptions({"max"}), Interval(Real, 0, None, closed="neither")],
        "bound": [StrOptions({"thesis", "union", "bootstrap"})],
        "bias": [StrOptions({"minimax", "accuracy"})],
        "norm": [StrOptions({"l2", "l1"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_bootstrap": [Interval(Integral, 1, None, closed="left")],
    }

    def _prepare(self, train: TrainingRows) -> Prepared:
        """Compute moments and their uncertainty at full size."""
        if self.norm == "l1":
            if self.kernel is not None:
                raise ValueError(
                    f'norm="l1" makes weights of features sparse and needs kernel=None, got '
                    f"kernel={self.kernel!r}."
                )
            space, kernel = linear_space(train.X, reduce=False), None
        else:
            space, kernel = self._feature_space(train.X)
        zero, one = class_moments(space.rows, train.is_one, train.weight)
        far = np.linalg.norm(mean_difference(zero, one), 2 if self.norm == "l2" else np.inf)
        radius = self._settled_radius(space.norms)
        full = self._full_uncertainty(space, train, (zero.n, one.n), radius)
        return Prepared(
            space, kernel, zero, one, full, radius, largest_uncertainty(float(far), full)
        )

    def _settled_radius(self, norms: NDArray[np.float64]) -> float:
        largest = float(norms.max())
        if isinstance(self.radius, str):
            return largest
        if self.radius < largest * (1 - 1e-12):
            raise ValueError(
                f"radius={self.radius:g} must be at least the norm of every row, and a training "
                f"row has norm {largest:g}."
            )
        return float(self.radius)

    def _full_uncertainty(
        self,
        space: FeatureSpace,
        train: TrainingRows,
        sizes: tuple[float, float],
        radius: float,
    ) -> MomentUncertainty:
        if self.bound != "bootstrap":
            return moment_uncertainty(sizes, radius, self.delta, self.bound)
        if train.weight is not None:
            raise ValueError('bound="bootstrap" resamples rows and takes no sample_weight.')
        rng = check_random_state(self.random_state)
        rows = space.rows.toarray() if hasattr(space.rows, "toarray") else space.rows
        far = [
            bootstrap_deviation(rows[member], self.delta / 4, self.n_bootstrap, rng)
            for member in (~train.is_one, train.is_one)
        ]
        if min(min(pair) for pair in far) <= 0.0:
            raise ValueError('bound="bootstrap" needs at least two different rows in each class.')
        means, covs = np.array(far).T
        return MomentUncertainty(4.0 * radius * means, covs)

    def _plane(
        self,
        ready: Prepared,
        nu: float,
        solver: str = "direct",
        start: Any = None,
        watch: Watch | None = None,
    ) -> Hyperplane:
        return robust_hyperplane(
            ready.zero,
            ready.one,
            ready.full.times(nu),
            solver=solver,
            norm=self.norm,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            watch=watch,
        )

    def _threshold(self, ready: Prepared, plane: Hyperplane, train: TrainingRows) -> float:
        if self.bias == "minimax":
            return plane.threshold
        scores = ready.space.rows @ plane.coef
        return accuracy_threshold(scores, train.is_one, plane.threshold, train.weight)

    def _conclude(self, ready: Prepared, plane: Hyperplane, nu: float, train: TrainingRows) -> None:
        """Store the solution, and what it guarantees."""
        self._kernel = ready.kernel
        threshold = self._threshold(ready, plane, train)
        self._keep(plane._replace(threshold=threshold), ready.space, train)
        self.kappa_ = plane.kappas[0]
        self.worst_case_error_ = float(worst_case_error(self.kappa_))
        # A share of the uncertainty is regularisation; only the whole of it is a guarantee.
        holds = nu >= 1.0 and self.bias == "minimax"
        self.certificate_ = self.worst_case_error_ if holds else float("nan")
        self.nu_, self.nu_max_, self.radius_ = nu, ready.nu_max, ready.radius
        self.A_, self.offset_ = nu * ready.full.inflation, nu * ready.full.offset
        if plane.gap > max(self.tol, 1e-6) * max(self.kappa_, 1e-3):
            warnings.warn(
                f"{type(self).__name__} did not converge in {plane.n_iter} steps: kappa is "
                f"{self.kappa_:.6g} and might be {plane.gap:.3g} larger.",
                ConvergenceWarning,
                stacklevel=3,
            )
