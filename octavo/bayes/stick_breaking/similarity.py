"""How alike data sets are by the atoms they use (Section 5.4, Figures 20 and 21)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked

__all__ = ["kl_similarity", "rank_similar"]


def _histograms(histograms: Any) -> Floats:
    """Return tables of shares, also of a fitted model; refuse what is no histogram."""
    if hasattr(histograms, "fit"):
        check_is_fitted(histograms)
        histograms = histograms.atom_histogram_
    table = check_array(histograms, dtype=np.float64, input_name="histograms")
    if (table < 0).any():
        raise ValueError(f"Histograms must not be negative; got {table.min():g}.")
    if (table.sum(axis=1) <= 0).any():
        row = int(np.flatnonzero(table.sum(axis=1) <= 0)[0])
        raise ValueError(f"Each histogram must have some mass; row {row} has none.")
    return np.asarray(table / table.sum(axis=1, keepdims=True))


@checked
def kl_similarity(histograms: Any, smoothing: float = 1e-2) -> Floats:
    """Return exp(-KL(p_i ‖ p_j)) of the atoms that data sets use.

    Parameters
    ----------
    histograms : array-like of shape (n_data_sets, n_atoms) or HierarchicalLSBP
        Counts or shares of atoms, one row per data set, or a fitted model.
    smoothing : float, default=1e-2
        Share that is spread evenly over the atoms, so that an atom which only one data set uses
        leaves some similarity.

    Returns
    -------
    similarity : ndarray of shape (n_data_sets, n_data_sets)
        One on the diagonal; not symmetric, as the divergence is not.

    Examples
    --------
    >>> from octavo.bayes import kl_similarity
    >>> print(kl_similarity([[1, 1, 0], [1, 1, 0], [0, 1, 1]], smoothing=0.1).round(3))
    [[1.  1.  0.3]
     [1.  1.  0.3]
     [0.3 0.3 1. ]]
    """
    if not 0.0 <= smoothing <= 1.0:
        raise ValueError(f"Smoothing must be between 0 and 1; got {smoothing}.")
    p = _histograms(histograms)
    # so that an atom that one set never uses leaves the divergence finite
    p = (1.0 - smoothing) * p + smoothing / p.shape[1]
    # exp(-KL) of two histograms of atoms (Section 5.4)
    return np.asarray(np.exp(-rel_entr(p[:, None, :], p[None, :, :]).sum(axis=2)))


@checked
def rank_similar(histograms: Any, i: int, smoothing: float = 1e-2) -> Indices:
    """Return the other data sets, the one most similar to data set i first.

    Parameters
    ----------
    histograms : array-like of shape (n_data_sets, n_atoms) or HierarchicalLSBP
        Counts or shares of atoms, one row per data set, or a fitted model.
    i : int
        Which data set is asked about.
    smoothing : float, default=1e-2
        As for `kl_similarity`.

    Returns
    -------
    order : ndarray of shape (n_data_sets - 1,)
        Numbers of data sets.

    Examples
    --------
    >>> from octavo.bayes import rank_similar
    >>> print(rank_similar([[3, 1, 0], [0, 1, 3], [2, 1, 0]], 0))
    [2 1]
    """
    row = kl_similarity(histograms, smoothing)
    if isinstance(i, bool) or i != int(i) or not 0 <= i < len(row):
        raise ValueError(f"The data set must be a number from 0 to {len(row) - 1}; got {i}.")
    order = np.argsort(-row[int(i)], kind="stable")
    return np.asarray(order[order != i])
