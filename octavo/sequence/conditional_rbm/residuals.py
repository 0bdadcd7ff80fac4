"""Linear autoregression by least squares, and units in which its residuals are white."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.linalg

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.namespaces import to_numpy
from octavo.sequence.conditional_rbm.frames import Frames, Scaling, target_rows
from octavo.sequence.conditional_rbm.training import past_of

TINY = 1e-7  # smallest residual, in standard deviations of the channels, that makes a unit
WELL_CONDITIONED = 1e-7  # reciprocal condition of a Gram matrix above which it is solved as it is


def least_squares(past: Floats, frames: Floats, alpha: float) -> Floats:
    """Return coefficients that minimise ‖frames - past C‖² / n + alpha ‖C‖².

    Parameters
    ----------
    past : ndarray of shape (n, p)
        Centred regressors.
    frames : ndarray of shape (n, D)
        Centred targets.
    alpha : float
        Strength of the penalty.

    Returns
    -------
    coef : ndarray of shape (p, D)
        The least-norm minimiser where there are many.
    """
    penalty = alpha * past.shape[0] * np.eye(past.shape[1])
    gram = past.T @ past + penalty
    factor, info = scipy.linalg.lapack.dpotrf(gram, lower=True)
    if info == 0 and scipy.linalg.lapack.dpocon(factor, _norm(gram), "L")[0] > WELL_CONDITIONED:
        solve = partial(scipy.linalg.cho_solve, (factor, True))
        coef = solve(past.T @ frames)
        # One step of refinement gives back the digits that squares have lost.
        return coef + solve(past.T @ (frames - past @ coef) - penalty @ coef)
    if alpha > 0:
        past = np.concatenate([past, np.sqrt(penalty)])
        frames = np.concatenate([frames, np.zeros((len(penalty), frames.shape[1]))])
    # past and √penalty stacked: the same normal equations, unsquared
    return scipy.linalg.lstsq(past, frames, lapack_driver="gelsd")[0]


def _norm(matrix: Floats) -> float:
    return float(np.abs(matrix).sum(axis=0).max())


def residual_units(
    frames: Frames, scaling: Scaling, order: int
) -> tuple[Scaling, dict[str, Floats]]:
    """Return units in which residuals of the linear autoregression are white, and the model there.

    Parameters
    ----------
    frames : Frames
        Training frames; all are read at once.
    scaling : Scaling
        Means and scales of the channels.
    order : int
        How many frames back the autoregression looks.

    Returns
    -------
    scaling : Scaling
        With channels mixed: the density of a machine without hidden units is that of the
        autoregression with its full covariance.
    linear : dict of ndarray
        Weights A (order · D, D) and biases a (D,) of the autoregression in these units.
    """
    rows = scaling.scaled(np.asarray(to_numpy(frames.rows[0 : frames.n_rows, :]), dtype=float))
    targets = target_rows(frames.lengths, order)
    past, now = past_of(rows, targets, order, np), rows[targets]
    centre, level = past.mean(axis=0), now.mean(axis=0)
    coef = least_squares(past - centre, now - level, 0.0) if order else np.zeros((0, now.shape[1]))
    residual = now - level - (past - centre) @ coef
    # Σ of the autoregression: unit variance in Eq. (9) then fits it
    covariance = residual.T @ residual / len(now)
    lower, info = scipy.linalg.lapack.dpotrf(covariance, lower=True, clean=True)
    if info != 0 or np.diag(lower).min() < TINY:
        raise ValueError(
            "standardize='residual' needs channels of which a linear autoregression leaves "
            "something over in every direction; here some follow from the others or from the "
            "past. Leave them out, or choose standardize=True."
        )
    back, turn = lower.T, np.linalg.inv(lower).T
    size = float(np.mean((rows @ turn) ** 2))
    past_back = np.kron(np.eye(order), back)
    linear = {"A": past_back @ coef @ turn, "a": (level - centre @ coef) @ turn}
    return scaling._replace(turn=turn, back=back, size=size), linear
