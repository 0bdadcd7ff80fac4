"""Penalties from theory: what noise of a known size can fake (Section 3.3, Theorem 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.network.autoregressive.features import read_feature_map
from octavo.network.autoregressive.snapshots import read_snapshots

__all__ = ["CalibratedPenalties", "calibrate_penalties"]


class CalibratedPenalties(NamedTuple):
    """The penalties τ, γ and κ that Theorem 3 asks for, at a noise level."""

    tau: float
    gamma: float
    kappa: float


@checked
def calibrate_penalties(
    snapshots: Any,
    noise: float,
    alpha: float = 0.5,
    confidence: float = 1.0,
    feature_map: Any = "svd",
    rank: int = 5,
) -> CalibratedPenalties:
    """Return penalties with which the paper's bound holds; upper ends of a grid in practice.

    Parameters
    ----------
    snapshots : array of shape (T, n, m), or list of matrices
        The series.
    noise : float
        Standard deviation of the noise of the features, the paper's σ.
    alpha : float, default=0.5
        Share of the nuclear norm, in (0, 1); the rest is for absolute entries.
    confidence : float, default=1.0
        The paper's x: the bound fails with probability 17 exp(-x) at most.
    feature_map : str, ndarray, LinearOperator or list of matrices, default="svd"
        As for `AutoregressiveLinkPredictor`.
    rank : int, default=5
        Directions of ``"svd"``.

    Returns
    -------
    penalties : CalibratedPenalties
        `tau`, `gamma`, `kappa`.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> from octavo.network import calibrate_penalties
    >>> series = make_autoregressive_graphs(n=20, rank=2, T=6, random_state=0)
    >>> round(calibrate_penalties(series.snapshots, 0.5, rank=2).tau, 3)
    0.257
    """
    if not 0.0 < noise < np.inf:
        raise ValueError(f"noise must be a positive number; got {noise!r}.")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1; got {alpha!r}.")
    if not 0.0 < confidence < np.inf:
        raise ValueError(f"confidence must be a positive number; got {confidence!r}.")
    if not rank >= 1:
        raise ValueError(f"rank must be at least 1; got {rank!r}.")
    matrices = read_snapshots(snapshots)
    if len(matrices) < 2:
        raise ValueError("Penalties need two snapshots at least; got one.")
    omega = read_feature_map(feature_map, matrices, int(rank), check_random_state(0))
    features = np.array([omega(matrix) for matrix in matrices])
    T, d, n = len(matrices) - 1, features.shape[1], max(matrices[0].shape)
    v_op2, v_inf2 = omega.variances()  # Eq. (7)
    sizes = (features[:-1] ** 2).mean(axis=0) + features[-1] ** 2
    heard = sizes[sizes > 0.0]  # a feature that is never seen has no noise to guard against
    spread = np.maximum(np.maximum(heard, 1.0 / heard), np.e)
    wide = 2.0 * float(np.log(np.log(spread)).max(initial=0.0))  # Eq. (8)
    x = confidence
    inner = np.sqrt(2.0 * np.e * (x + 2.0 * np.log(d) + wide))
    return CalibratedPenalties(
        # Theorem 3, all three
        tau=float(3.0 * np.sqrt(2.0 * v_op2 * (x + np.log(2 * n)) / d) * alpha * noise),
        gamma=float(3.0 * (1.0 - alpha) * noise * np.sqrt(2.0 * v_inf2 * (x + 2 * np.log(n)) / d)),
        kappa=float(6.0 * noise * np.sqrt(sizes.max()) * (inner / np.sqrt(T) + inner / d)),
    )
