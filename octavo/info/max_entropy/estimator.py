"""`MaxEntDistribution`: the least committed distribution that has given moments.

Reference: A. Shashua (2008), "Introduction to Machine Learning", lecture 2.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import entr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.info.max_entropy.projections import (
    SOLVERS,
    project,
    read_moments,
    read_prior,
    warn_unless_reached,
)
from octavo.info.max_entropy.table import Features, read_features

__all__ = ["MaxEntDistribution"]


class MaxEntDistribution(SoundEstimator):
    """Fit the distribution of largest entropy on finitely many points with given moments.

    Minimises D(p‖p0) subject to Fᵀp = b. The solution is the Gibbs distribution p_i ∝ p0_i
    exp(F_i·λ), found through the dual, which is smooth and convex in λ.

    Parameters
    ----------
    features : array-like of shape (n_points, n_constraints) or callable
        F: what is averaged, a row per support point; or a function that makes it of `support`.
    prior : array-like of shape (n_points,), default=None
        p0; weights are divided by their sum, and those of zero stay zero. None is uniform.
    solver : {"newton", "lbfgs", "gis"}, default="newton"
        Newton's method with Armijo's rule; L-BFGS, better for more than about 200 constraints;
        generalised iterative scaling, for comparison.
    slack : float, default=0.0
        Largest Euclidean distance of Fᵀp from b: 0 for equality. Moments that were estimated are
        better met loosely.
    support : array-like, default=None
        The points, where `features` is a function.
    tol : float, default=1e-10
        Stop when no moment is off by more than this part of its feature's range.
    max_iter : int, default=None
        Most iterations; None for 200 ("newton"), 10,000 ("lbfgs") or 100,000 ("gis").

    Attributes
    ----------
    prob_ : ndarray of shape (n_points,)
        The distribution.
    multipliers_ : ndarray of shape (n_constraints,)
        λ.
    entropy_ : float
        -Σ p log p, in nats.
    relative_entropy_ : float
        D(p‖p0).
    moments_ : ndarray of shape (n_constraints,)
        Fᵀp.
    duality_gap_ : float
        D(p‖p0) less the value of the dual.
    n_iter_ : int
        Iterations.

    See Also
    --------
    i_projection : The same without an estimator.
    ipf : Where the constraints are margins of a table.

    Notes
    -----
    Moments outside the hull of the features, or on its boundary, have no Gibbs distribution:
    `InfeasibleConstraints` is raised, with the direction that separates. Do not use it for a
    density of rows of data: `sklearn.neighbors.KernelDensity` or `sklearn.mixture` do that.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 2.3.

    Examples
    --------
    >>> from octavo.info import MaxEntDistribution
    >>> die = MaxEntDistribution([[1], [2], [3], [4], [5], [6]]).fit([4.2])
    >>> die.multipliers_.round(6), round(die.entropy_, 5)
    (array([0.249045]), 1.70621)
    """

    _parameter_constraints = {
        "features": ["array-like", callable],
        "prior": ["array-like", None],
        "solver": [StrOptions(set(SOLVERS))],
        "slack": [Interval(Real, 0, None, closed="left")],
        "support": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        features,
        prior=None,
        solver="newton",
        slack=0.0,
        *,
        support=None,
        tol=1e-10,
        max_iter=None,
    ):
        self.features = features
        self.prior = prior
        self.solver = solver
        self.slack = slack
        self.support = support
        self.tol = tol
        self.max_iter = max_iter

    def _features(self) -> Features:
        if not callable(self.features):
            return read_features(self.features)
        if self.support is None:
            raise ValueError("Where features is a function, support must hold the points.")
        return read_features(self.features(np.asarray(self.support)))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, b: Any, y: Any = None) -> Self:
        """Find the distribution with given moments.

        Parameters
        ----------
        b : array-like of shape (n_constraints,)
            The moments.
        y : None
            Ignored.

        Returns
        -------
        self : MaxEntDistribution
            Fitted.
        """
        features = self._features()
        F = features.table
        moments, prior = read_moments(b, F.shape[1]), read_prior(self.prior, len(F))
        if self.slack and self.solver == "gis":
            raise ValueError("Iterative scaling meets moments exactly; use another solver.")
        most = {"newton": 200, "lbfgs": 10_000, "gis": 100_000}[self.solver]
        found = project(
            prior,
            features,
            moments,
            solver=self.solver,
            slack=float(self.slack),
            tol=float(self.tol),
            max_iter=most if self.max_iter is None else self.max_iter,
        )
        warn_unless_reached(found, "MaxEntDistribution", self.tol)
        self.prob_, self.multipliers_, self.n_iter_ = found.prob, found.multipliers, found.n_iter
        self.entropy_ = float(entr(found.prob).sum())
        inside = found.prob > 0.0
        p = found.prob[inside]
        self.relative_entropy_ = max(0.0, float(p @ (np.log(p) - np.log(prior[inside]))))
        self.moments_ = F.T @ found.prob
        self.duality_gap_ = abs(self.relative_entropy_ + found.dual)
        return self

    def expectation(self, values: Any) -> Any:
        """Return the mean of a function of the points.

        Parameters
        ----------
        values : array-like of shape (n_points,) or (n_points, n_functions)
            The function's values at the points.

        Returns
        -------
        mean : float or ndarray of shape (n_functions,)
            Σ p_i values_i.
        """
        check_is_fitted(self)
        given = real_array(values, "values")
        if given.ndim not in (1, 2) or len(given) != len(self.prob_):
            raise ValueError(
                f"values must have one row per support point, {len(self.prob_)}; got shape "
                f"{given.shape}."
            )
        mean = self.prob_ @ given
        return float(mean) if given.ndim == 1 else mean

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw indices of support points.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        points : ndarray of shape (n_samples,)
            Positions in the support.
        """
        check_is_fitted(self)
        if isinstance(n_samples, bool) or int(n_samples) != n_samples or n_samples < 1:
            raise ValueError(f"n_samples must be a positive whole number; got {n_samples!r}.")
        rng = check_random_state(random_state)
        return rng.choice(len(self.prob_), size=int(n_samples), p=self.prob_)
