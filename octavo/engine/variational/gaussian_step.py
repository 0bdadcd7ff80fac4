"""One step of a Gaussian posterior towards the top of a variational bound.

The posterior is N(mu, Sigma) and the bound S(mu, Sigma) + ln|Sigma| / 2, where S is the expected
log joint density. Non-conjugate variational message passing replaces the natural parameters by

    Sigma^-1 <- -2 dS/dSigma,   Sigma^-1 mu <- dS/dmu - 2 dS/dSigma mu,

both taken at the old (mu, Sigma): Wand (2014), Eq. (7). It is a natural-gradient step of length
one, so that a shorter step mixes old and new natural parameters, and a step that is short enough
raises the bound wherever it is not yet stationary. Where the paper adds a ridge to a matrix that is
singular, a shorter step is taken here: it stays on the way to the bound's top.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from octavo.engine.estimators.arrays import Floats

SHORTEST = 2.0**-40  # a step this short moves nothing


def symmetric_part(matrix: Floats) -> Floats:
    """Return (M + M') / 2."""
    return 0.5 * (matrix + matrix.T)


def inverse_of_positive(precision: Floats) -> tuple[Floats, float] | None:
    """Return the inverse and the log-determinant; None where the matrix is not positive."""
    if not np.isfinite(precision).all():
        return None
    try:
        factor = cho_factor(precision, lower=True)
    except LinAlgError:
        return None
    diagonal = np.diagonal(factor[0])
    inverse = cho_solve(factor, np.eye(len(precision)))
    return symmetric_part(inverse), 2.0 * float(np.log(diagonal).sum())


def natural_step(
    grad_mu: Floats, grad_Sigma: Floats, mu: Floats, Sigma: Floats, damping: float = 1.0
) -> tuple[Floats, Floats, float]:
    """Return the new mean, the new covariance and the length of the step that was taken.

    Parameters
    ----------
    grad_mu, grad_Sigma : ndarray of shape (d,), (d, d)
        Derivatives of S at (mu, Sigma).
    mu, Sigma : ndarray of shape (d,), (d, d)
        Where the posterior is.
    damping : float, default=1
        Length of the step in natural parameters, in (0, 1]. It is halved until the new precision
        is positive definite, which it is for a short enough step.

    Returns
    -------
    mu, Sigma : ndarray
        The new posterior.
    taken : float
        The length.
    """
    wanted = -2.0 * symmetric_part(grad_Sigma)
    old = inverse_of_positive(symmetric_part(Sigma))
    if old is None:
        raise ValueError("Sigma must be positive definite and finite; it is not.")
    precision = old[0]
    taken = float(damping)
    while taken >= SHORTEST:
        mixed = (1.0 - taken) * precision + taken * wanted
        found = inverse_of_positive(mixed)
        if found is not None:
            # Eq. (7); with a full step the mean is mu + Sigma dS/dmu.
            return mu + taken * (found[0] @ grad_mu), found[0], taken
        taken *= 0.5
    raise ValueError(
        "-2 grad_Sigma must be finite so that a short step keeps the precision positive definite; "
        "it has entries that are not."
    )
