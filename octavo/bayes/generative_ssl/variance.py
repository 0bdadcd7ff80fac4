"""Whether unlabelled rows make the estimate steadier: the variance of Section 4.1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["UnlabelledValue", "unlabelled_value"]

_BATCH = 1 << 21  # resampled numbers at once


class UnlabelledValue(NamedTuple):
    """Variance of the objective a labelled row with and without unlabelled rows.

    ``margin`` is Cov(L_y|x, L_x) + Var(L_x) / 2; unlabelled rows lower the variance where it is
    positive. ``interval`` is that of the margin.
    """

    helps: bool
    margin: float
    interval: tuple[float, float]
    variance_with: float
    variance_without: float
    conditional_variance: float
    marginal_variance: float
    covariance: float


def _moments(conditional: Floats, marginal: Floats) -> tuple[Floats, Floats, Floats]:
    """Return both variances and the covariance along the last axis."""
    n = conditional.shape[-1]
    a = conditional - conditional.mean(axis=-1, keepdims=True)
    b = marginal - marginal.mean(axis=-1, keepdims=True)
    return tuple((u * v).sum(axis=-1) / (n - 1) for u, v in ((a, a), (b, b), (a, b)))


@checked
def unlabelled_value(
    model: Any,
    X: Any,
    y: Any,
    n_unlabelled: int = 0,
    *,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> UnlabelledValue:
    """Estimate whether unlabelled rows lower the variance of the unbiased objective.

    The paper's condition (Section 4.1) is on logarithms of p(y|x) / p(y|x, θ) and p(x) / p(x|θ),
    which hold the unknown truth. What is estimated here is the same condition for the part that
    depends on θ, -log p(y|x, θ) and -log p(x|θ) (Eq. 23), at the parameters of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted, with `predict_log_proba` and `log_density`, such as a
        `SemiSupervisedGenerativeClassifier`.
    X : array-like of shape (n_labelled, n_features)
        Labelled rows.
    y : array-like of shape (n_labelled,)
        Their labels.
    n_unlabelled : int, default=0
        How many unlabelled rows there are or could be.
    n_bootstrap : int, default=1000
        Number of resamples for the interval.
    confidence : float, default=0.95
        Level of the interval.
    random_state : int, RandomState instance or None, default=None
        Seeds the resamples.

    Returns
    -------
    value : UnlabelledValue
        Whether they help, by what margin, and both variances.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import SemiSupervisedGenerativeClassifier, unlabelled_value
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(0, 2, 60)
    >>> X = rng.standard_normal((60, 2)) + 2.0 * y[:, None]
    >>> model = SemiSupervisedGenerativeClassifier(random_state=0).fit(X, y)
    >>> found = unlabelled_value(model, X, y, 1000, random_state=0)
    >>> found.helps, bool(found.variance_with < found.variance_without)
    (True, True)
    """
    for name, given, least in (("n_unlabelled", n_unlabelled, 0), ("n_bootstrap", n_bootstrap, 1)):
        if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < least:
            raise ValueError(f"{name} must be an int of at least {least}; got {given!r}.")
    if n_bootstrap > 1_000_000:
        raise ValueError(f"n_bootstrap must be at most 1,000,000; got {n_bootstrap}.")
    if not 0.0 < float(confidence) < 1.0:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    check_is_fitted(model)
    labels = np.asarray(y)
    column = np.searchsorted(model.classes_, labels)
    known = np.minimum(column, len(model.classes_) - 1)
    if labels.ndim != 1 or not (model.classes_[known] == labels).all():
        raise ValueError(f"y must hold labels among the model's classes {model.classes_.tolist()}.")
    n = len(labels)
    if n < 3:
        raise ValueError(f"At least three labelled rows are needed for variances; got {n}.")
    conditional = -np.asarray(model.predict_log_proba(X))
    if len(conditional) != n:
        raise ValueError(f"X has {len(conditional)} rows and y {n} entries.")
    # L_{Y|X} of Eq. (26), with -log p(y | x, θ) alone
    conditional = conditional[np.arange(n), known]
    marginal = -np.asarray(model.log_density(X))  # L_X of Eq. (26), with -log p(x | θ) alone
    a, b, c = (float(v) for v in _moments(conditional, marginal))
    whole = n + int(n_unlabelled)
    rng = check_random_state(random_state)
    margins = []
    size = max(1, _BATCH // n)
    for begin in range(0, n_bootstrap, size):
        picks = rng.randint(0, n, (min(size, n_bootstrap - begin), n))
        _, spread, together = _moments(conditional[picks], marginal[picks])
        margins.append(together + 0.5 * spread)  # Cov + Var(L_X) / 2
    tail = 50.0 * (1.0 - float(confidence))
    low, high = np.percentile(np.concatenate(margins), [tail, 100.0 - tail])
    return UnlabelledValue(
        c + 0.5 * b >= 0.0,  # Section 4.1: V falls with N iff Cov ≥ -Var(L_X) / 2
        c + 0.5 * b,
        (float(low), float(high)),
        a / n + (b + 2.0 * c) / whole,  # Eq. (27)
        a / n + (b + 2.0 * c) / n,  # Eq. (27) at N = N_L
        a,
        b,
        c,
    )
