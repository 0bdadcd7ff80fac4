"""Averaged SGD for any model with bounded features of finitely many responses.

A generalised linear model has f_n(θ) = -⟨θ, Φ(x_n, y_n)⟩ + log Σ_y h(y) exp⟨θ, Φ(x_n, y)⟩. Softmax
regression, ordinal and multi-label models and small conditional random fields are of this kind.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: second example of
Section 2.1. Differences of features reach 2ρ, so that R is 2ρ, not the bound ρ of the features.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.streams.averaged_descent import CONSTANT, DOUBLING
from octavo.linear.averaged_sgd.base import SCHEDULES, step_rule
from octavo.linear.averaged_sgd.bounds import need_number

__all__ = ["AveragedGLM", "averaged_sgd_glm"]


class AveragedGLM(NamedTuple):
    """A model learnt in one pass: ``coef`` is the mean of the iterates, ``last_coef`` the newest.

    ``n_seen`` rows were seen, and the last step was ``step``.
    """

    coef: Floats
    last_coef: Floats
    n_seen: int
    step: float


def _checked_features(features: Any, observed: Any, size: int | None, bound: float) -> Floats:
    table = real_array(features, "features")
    if table.ndim != 2 or not table.size or size not in (None, table.shape[1]):
        wanted = "n_parameters" if size is None else size
        raise ValueError(
            f"Features of a row must have shape (n_responses, {wanted}); got {table.shape}."
        )
    is_index = hasattr(observed, "__index__") and not isinstance(observed, bool)
    if not is_index or not 0 <= int(observed) < len(table):
        raise ValueError(
            f"A response must be the number of a row of its features, 0 to {len(table) - 1}; got "
            f"{observed!r}."
        )
    with np.errstate(over="ignore"):
        longest = float(np.sqrt(np.square(table).sum(axis=1).max()))
    if longest > bound * (1 + 1e-12):
        raise ValueError(f"Features are of length {longest:.6g}; the bound given is {bound:.6g}.")
    return table


@checked
def averaged_sgd_glm(
    rows: Iterable[tuple[Any, int]],
    bound: float,
    *,
    base: Any = None,
    schedule: str = "decay",
    c: float = 2.0,
    horizon: int | None = None,
    dist: float | None = None,
) -> AveragedGLM:
    """Fit a generalised linear model of finitely many responses in one pass.

    Parameters
    ----------
    rows : iterable of tuple
        Pairs of features Φ(x_n, ·), of shape (n_responses, n_parameters), and the number of the
        response that was observed. The number of responses may differ from row to row.
    bound : float
        ρ, which no ‖Φ(x, y)‖ exceeds; R is 2ρ.
    base : callable or None, default=None
        Takes the features of a row and returns log h(y) of its responses; 0 by default.
    schedule : {"decay", "constant", "doubling", "distance"}, default="decay"
        Steps, as in `AveragedSGDClassifier`.
    c : float, default=2.0
        Length of steps.
    horizon : int or None, default=None
        N of the schedules "constant" and "distance".
    dist : float or None, default=None
        For "distance": an upper bound on the norm of the optimum.

    Returns
    -------
    model : AveragedGLM
        The mean of the iterates and the newest one.

    See Also
    --------
    AveragedSGDClassifier : Softmax regression, compiled.

    Examples
    --------
    Four ordered grades, whose features are the grade times x and the grade squared:

    >>> import numpy as np
    >>> from octavo.linear import averaged_sgd_glm
    >>> rng = np.random.default_rng(0)
    >>> grades = np.arange(4)
    >>> def features(x):
    ...     return np.column_stack([grades * x, grades**2]) / 10
    >>> def draw(x):
    ...     score = features(x) @ [5.0, -3.0]
    ...     return rng.choice(4, p=np.exp(score) / np.exp(score).sum())
    >>> rows = [(features(x), draw(x)) for x in rng.uniform(-1, 1, 20_000)]
    >>> averaged_sgd_glm(rows, bound=1.0, c=40.0).coef.round(0)
    array([ 5., -3.])
    """
    if schedule not in SCHEDULES:
        known = ", ".join(repr(name) for name in sorted(SCHEDULES))
        raise ValueError(f"schedule must be one of {known}; got {schedule!r}.")
    bound, c = need_number("bound", bound), need_number("c", c)
    if horizon is not None:
        need_number("horizon", horizon)
    if dist is not None:
        dist = need_number("dist", dist)
    # Section 2.1 with ‖Φ‖ <= bound: differences of two features are 2 bound long, so R = 2 bound.
    rule = step_rule(schedule, c, horizon, dist, 2.0)
    R = rule.factor * bound
    theta: Floats = np.zeros(0)
    mean: Floats = theta
    finished: Floats | None = None
    n, window, step = 0, 0, 0.0
    for features, observed in rows:
        table = _checked_features(features, observed, theta.size if n else None, bound)
        if n == 0:
            theta, mean = np.zeros(table.shape[1]), np.zeros(table.shape[1])
        n, window = n + 1, window + 1
        mean += (theta - mean) / window  # θ̄_n = θ_{n-1}/n + (n-1)/n θ̄_{n-1}
        scores = table @ theta + (0.0 if base is None else np.asarray(base(table), dtype=float))
        # The gradient is E Φ(x, y) under the model less the Φ observed.
        slope = softmax(scores)
        slope[int(observed)] -= 1.0
        count = {CONSTANT: rule.horizon, DOUBLING: 2.0 ** (n.bit_length() - 1)}.get(
            rule.schedule, float(n)
        )
        step = rule.c / (R * R if rule.squared else R) / np.sqrt(count)
        theta = theta - step * (slope @ table)  # (A7)
        if rule.schedule == DOUBLING and (n + 1) & n == 0:  # a block [2^p, 2^(p+1)) is whole
            finished, mean, window = mean, np.zeros_like(theta), 0
    if n == 0:
        raise ValueError("rows is empty; expected at least one pair of features and a response.")
    return AveragedGLM(mean if finished is None else finished, theta, n, float(step))
