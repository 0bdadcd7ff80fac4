"""The mode of the weights: a support vector machine without offset, by Newton on smooth hinges.

The posterior of η given features is exp(-‖η‖²/(2ν²) - 2c Σ max(0, ζ)). Its mode is found along
2 max(0, ζ) ≈ ζ + sqrt(ζ² + δ²) for a falling δ; dual variables c (1 + ζ / sqrt(ζ² + δ²)) lie in
[0, 2c] by themselves, so that every iterate has a duality gap.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes.max_margin_topics.hinge_terms import HingeTerms
from octavo.engine.estimators.arrays import Floats

SHRINK = 0.2  # of δ from one stage to the next
STEPS_A_STAGE = 30


class HingeMode(NamedTuple):
    """The mode of one task.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        The mode η.
    duals : ndarray of shape (n_terms, n_samples)
        Multipliers μ of the margins, between 0 and 2c.
    objective : float
        ‖η‖²/(2ν²) + 2c Σ max(0, ζ).
    duality_gap : float
        How far above the least objective it may be.
    """

    weights: Floats
    duals: Floats
    objective: float
    duality_gap: float


def _smooth(eta, X, m, s, c, nu2, delta):
    """Return the smoothed objective, ζ and sqrt(ζ² + δ²)."""
    slack = m - s * (X @ eta)
    root = np.hypot(slack, delta)
    # 2 max(0, ζ) ≈ ζ + sqrt(ζ² + δ²)
    return 0.5 * eta @ eta / nu2 + (c * (slack + root)).sum(), slack, root


def _stage(eta, X, m, s, c, nu2, delta):
    """Minimise the objective of one δ by Newton's method with halved steps."""
    value, slack, root = _smooth(eta, X, m, s, c, nu2, delta)
    for _ in range(STEPS_A_STAGE):
        # d/dζ of the smoothed hinge is 1 + ζ / sqrt(ζ² + δ²)
        slope = eta / nu2 - (c * s * (1.0 + slack / root)).sum(axis=0) @ X
        # its second derivative, δ² / (ζ² + δ²)^(3/2)
        bend = (c * (delta / root) ** 2 / root).sum(axis=0)
        H = X.T @ (X * bend[:, None])
        H[np.diag_indices_from(H)] += 1.0 / nu2
        try:
            move = cho_solve(cho_factor(H, check_finite=False), slope, check_finite=False)
        except LinAlgError:  # bends of hinges that differ too much: the gap tells what is reached
            break
        gain = float(slope @ move)
        if not gain > 1e-22 * abs(value):
            break
        step = 1.0
        while step > 1e-10:
            trial = _smooth(eta - step * move, X, m, s, c, nu2, delta)
            # rounding of the objective must not stop what its slope still sees
            # Armijo's rule with a quarter of the predicted fall
            if trial[0] <= value - 0.25 * step * gain + 1e-14 * abs(value):
                break
            step *= 0.5
        else:
            break
        eta = eta - step * move
        value, slack, root = trial
    return eta, slack, root


def hinge_mode(
    X: Floats, terms: HingeTerms, nu2: float, *, tol: float = 1e-10, max_iter: int = 30
) -> HingeMode:
    """Return the mode of the weights of the only task of `terms`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    terms : HingeTerms
        Of one task.
    nu2 : float
        Prior variance.
    tol : float, default=1e-10
        Duality gap, as a part of the objective, at which to stop.
    max_iter : int, default=30
        Most values of δ, each a fifth of the last.

    Returns
    -------
    mode : HingeMode
        The best iterate by its duality gap.
    """
    m, s, c = terms.margins[..., 0], terms.signs[..., 0], terms.costs[:, 0]
    eta = np.zeros(X.shape[1])
    delta = float(np.abs(m).max(initial=0.0)) or 1.0
    best = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(max_iter):
            eta, slack, root = _stage(eta, X, m, s, c, nu2, delta)
            duals = c * (1.0 + slack / root)  # in [0, 2c]: feasible
            pull = (s * duals).sum(axis=0) @ X
            primal = 0.5 * eta @ eta / nu2 + 2.0 * (c * np.maximum(slack, 0.0)).sum()
            # the dual: Σ α m - ½ ν² ‖Σ α s x‖²
            gap = float(primal - ((duals * m).sum() - 0.5 * nu2 * pull @ pull))
            if not np.isfinite(gap):
                raise ValueError(
                    "The objective overflows: c, nu2 or the values are too large for numbers of "
                    "64 bits. Scale the data or lower c."
                )
            if best is None or gap < best.duality_gap:
                best = HingeMode(eta, duals, float(primal), max(gap, 0.0))
            if gap <= tol * abs(primal):
                return best
            delta *= SHRINK
    assert best is not None
    if best.duality_gap > 1e3 * tol * abs(best.objective):
        warnings.warn(
            f"The mode of the weights has a duality gap of {best.duality_gap:.3g} at an objective "
            f"of {best.objective:.3g}: larger than tol={tol:g} of it.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return best
