"""Draws from the logistic stick-breaking process without data (Section 2.2, Figures 2 and 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.bayes.stick_breaking.allocation import gate_probabilities
from octavo.bayes.stick_breaking.locations import (
    KernelBank,
    check_coords,
    choose_centers,
    width_library,
)
from octavo.bayes.stick_breaking.weight_priors import NU_PRIOR
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked

__all__ = ["sample_lsbp_prior"]


@checked
def sample_lsbp_prior(
    coords: Any,
    n_components: int = 10,
    random_state: Any = None,
    *,
    n_centers: int = 100,
    bandwidths: Any = "auto",
    weight_scale: float = 15.0,
) -> tuple[Indices, Floats]:
    """Draw segments from the prior: spike-and-slab weights of the gates.

    Parameters
    ----------
    coords : array-like of shape (n,) or (n, n_coords)
        Places.
    n_components : int, default=10
        The truncation level K.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.
    n_centers : int, default=100
        Number of kernels, at places among those given.
    bandwidths : "auto", float or list of float, default="auto"
        Widths ψ of kernels exp(-d² / ψ); each gate draws one.
    weight_scale : float, default=15.0
        Standard deviation of weights that are not zero, and of the bias (the paper's 15).

    Returns
    -------
    labels : ndarray of shape (n,)
        The atom that each place draws.
    weights : ndarray of shape (n, n_components)
        π_k(s), the probability of each atom at each place; rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import sample_lsbp_prior
    >>> labels, weights = sample_lsbp_prior(np.arange(200.0), 6, random_state=0)
    >>> labels.shape, weights.shape, bool(np.allclose(weights.sum(axis=1), 1.0))
    ((200,), (200, 6), True)
    """
    for name, value, least in (("n_components", n_components, 1), ("n_centers", n_centers, 0)):
        if isinstance(value, bool) or value != int(value) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}; got {value}.")
    if not (np.isfinite(weight_scale) and weight_scale > 0):
        raise ValueError(f"weight_scale must be a positive number; got {weight_scale}.")
    if isinstance(bandwidths, str) and bandwidths != "auto":
        raise ValueError(f"bandwidths must be 'auto' or numbers; got {bandwidths!r}.")
    rng = check_random_state(random_state)
    places = check_coords(coords)
    centers = choose_centers("subsample", min(int(n_centers), len(places)), places)
    bank = KernelBank(places, centers, width_library(bandwidths, "squared", places, centers))
    g = np.empty((len(places), int(n_components) - 1))
    for k in range(g.shape[1]):
        nu = rng.beta(*NU_PRIOR)  # ν ~ Beta(1, 10), as in Figure 2
        w = rng.normal(0.0, weight_scale, bank.n_columns)
        w[1:] *= rng.random_sample(len(centers)) < nu  # spike-and-slab: the bias always counts
        g[:, k] = bank.rows(int(rng.randint(bank.psi.size))) @ w  # Eq. (3)
    weights = gate_probabilities(g)  # π_k(s) of Section 2.1
    u = rng.random_sample((len(places), 1))
    labels = (np.cumsum(weights, axis=1) < u).sum(axis=1).clip(max=weights.shape[1] - 1)
    return labels, weights
