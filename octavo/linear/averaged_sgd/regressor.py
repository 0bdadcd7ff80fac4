"""One-pass robust regression without a step size to tune: the mean of the iterates of SGD.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: robust regression of
Section 2.1.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from octavo.engine.estimators.doubles import check_finite_result
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.losses import make_loss
from octavo.engine.streams import averaged_descent as descents
from octavo.engine.streams.chunks import is_chunk_stream
from octavo.linear.averaged_sgd.base import AveragedDescentMixin, row_count

__all__ = ["AveragedSGDRegressor"]


def spread_of(y: np.ndarray) -> tuple[float, float]:
    """Return the median and a robust standard deviation of targets; 1 where they are constant."""
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    with np.errstate(over="ignore"):
        # 1.349: the quartiles' distance of a standard normal
        spread = (high - low) / 1.349 or float(np.std(y))
    return float(middle), float(spread) if np.isfinite(spread) and spread > 0.0 else 1.0


class AveragedSGDRegressor(
    AveragedDescentMixin, CallbackSupportMixin, RegressorMixin, SoundEstimator
):
    """Robust linear regression in one pass: log-cosh loss, the mean of SGD's iterates.

    log cosh is half the square of small residuals and the absolute value of large ones. Steps and
    mean are those of `AveragedSGDClassifier`.

    Parameters
    ----------
    loss : {"logcosh"}, default="logcosh"
        log cosh((y - x·θ) / scale).
    scale : float or "auto", default=1.0
        Residuals that count as large. Targets are divided by it while learning, and coefficients
        come back in the units of y. "auto" is the spread of the targets of the first call (the
        whole table for `fit`), from whose median it starts then.
    schedule : {"decay", "constant", "doubling", "distance"}, default="decay"
        Steps, as in `AveragedSGDClassifier`.
    c : float, default=2.0
        Length of steps.
    R : float or None, default=None
        The paper's R: what bounds twice every row's length, the constant 1 of the intercept
        included. None is found on the way.
    horizon : int or None, default=None
        N of the schedules "constant" and "distance"; the number of rows when a table is fitted.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order (within a chunk, if given chunks).
    random_state : int, RandomState instance or None, default=None
        The random order.
    normalize : bool or "clip", default=False
        Scale rows to length one, or only those that are longer than R allows; the same is done
        to rows that are predicted.
    dist : float or None, default=None
        For "distance": an upper bound on the norm of the optimum, in units of ``scale``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Mean of the weights, (θ_0 + ... + θ_{N-1}) / N, in the units of y.
    intercept_ : float
        Mean of the intercepts.
    last_coef_ : ndarray of shape (n_features,)
        Weights after the last row.
    last_intercept_ : float
        Intercept after the last row.
    scale_ : float
        What targets were divided by.
    center_ : float
        What was taken from targets before: 0 unless ``scale="auto"``.
    n_seen_ : int
        Rows learnt from.
    R_ : float
        The R that was used.
    step_ : float
        Length of the last step, for targets divided by ``scale_``.
    bounds_valid_ : bool
        Whether one R served all rows, as `asgd_bounds` assumes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AveragedSGDClassifier : The same for classes.
    sklearn.linear_model.SGDRegressor : Huber loss, with a step to tune.

    Notes
    -----
    One pass from 0 with steps bounded by the loss: targets far from 0 in units of ``scale`` are
    not reached. Do not use it on a few hundred rows, where `sklearn.linear_model.HuberRegressor`
    is exact.

    References
    ----------
    .. [1] F. Bach (2014). "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
       Convexity for Logistic Regression". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import AveragedSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_t(2, size=20_000)
    >>> AveragedSGDRegressor(c=40.0, random_state=0).fit(X, y).coef_.round(1)
    array([ 1., -2.])
    """

    _parameter_constraints: dict[str, Any] = {
        **AveragedDescentMixin._parameter_constraints,
        "loss": [StrOptions({"logcosh"})],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        loss: str = "logcosh",
        scale: float | str = 1.0,
        schedule: str = "decay",
        c: float = 2.0,
        R: float | None = None,
        horizon: int | None = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = None,
        *,
        normalize: bool | str = False,
        dist: float | None = None,
    ) -> None:
        self.loss = loss
        self.scale = scale
        self.schedule = schedule
        self.c = c
        self.R = R
        self.horizon = horizon
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.normalize = normalize
        self.dist = dist

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # one pass over a few hundred rows is too little
        return tags

    def _factor(self) -> float:
        return make_loss(self.loss).radius

    def _checked(self, X: Any, y: Any, reset: bool = False) -> tuple[Any, np.ndarray]:
        X, y = self._table(X, y, reset=reset, y_numeric=True)
        return X, np.asarray(y, dtype=np.float64)

    def _prepare(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._checked(X, y)
        return X, self._targets(y)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):  # slopes are the same far out
            return np.clip(y / self.scale_ - self.center_ / self.scale_, -largest, largest)

    def _first_rows(
        self, X: Any, y: Any, first: Any = None, horizon: int | None = None
    ) -> tuple[Any, np.ndarray]:
        X, y = self._checked(X, y, reset=True)
        if self.scale == "auto":
            self.center_, self.scale_ = spread_of(y)
        else:
            self.center_, self.scale_ = 0.0, float(self.scale)
        self._begin(horizon)
        return X, self._targets(y)

    def _learn_block(self, rows: Any, local: np.ndarray, targets: np.ndarray) -> None:
        code = make_loss(self.loss).code
        descents.descend(rows, local, targets, code, self._rule, self._descent)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn from all rows, once each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable
            The rows, float64 or float32 (used as they are, not copied), dense or CSR. With
            ``y`` left out, an iterable of chunks ``(X, y)``, of which one is held at a time.
        y : array-like of shape (n_samples,), optional
            The targets.

        Returns
        -------
        self : AveragedSGDRegressor
            The fitted regressor.
        """
        if y is None and is_chunk_stream(X):
            self._learn_chunks(X, None)
            return self
        rows, targets = self._first_rows(X, y, horizon=row_count(X))
        self._learn_table(rows, y, targets)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from more rows, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        self : AveragedSGDRegressor
            The regressor.
        """
        prepare = self._prepare if hasattr(self, "_descent") else self._first_rows
        self._learn(*prepare(X, y))
        return self

    def _in_units(self, *, newest: bool) -> tuple[np.ndarray, float]:
        coef, intercept = self._split(self._weights(newest=newest))
        return self.scale_ * coef[0], float(self.scale_ * intercept[0] + self.center_)

    @property
    def coef_(self):
        """Mean of the weights over the rows, of shape (n_features,)."""
        return self._in_units(newest=False)[0]

    @property
    def intercept_(self):
        """Mean of the intercepts."""
        return self._in_units(newest=False)[1]

    @property
    def last_coef_(self):
        """Weights after the last row."""
        return self._in_units(newest=True)[0]

    @property
    def last_intercept_(self):
        """Intercept after the last row."""
        return self._in_units(newest=True)[1]

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        targets : ndarray of shape (n_samples,)
            In the units of y.
        """
        scores = self._scores(X)[:, 0]
        predicted = self.scale_ * scores + self.center_
        check_finite_result(predicted, "The predictions")
        return predicted
