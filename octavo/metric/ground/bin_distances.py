"""Distances between histograms that compare bin by bin: what a ground metric competes with.

Reference: Cuturi and Avis (2014), Sections 5.1, 5.3 and 6.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import rel_entr
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.metric.ground.histograms import as_histograms

__all__ = ["HellingerTransformer", "simplex_distance"]

KINDS = ("tv", "l1", "l2", "hellinger", "chi2", "js", "aitchison", "lebanon")
MOST_CELLS = 2_000_000  # of differences held at once


def _rowwise(R: Floats, S: Floats, distance: Any) -> Floats:
    """Fill a table of distances from a function of a block (b, 1, d) and S."""
    step = max(1, MOST_CELLS // max(S.size, 1))
    blocks = [distance(R[t : t + step, None, :], S[None]) for t in range(0, len(R), step)]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(S)))


def _chi2(r: Floats, c: Floats) -> Floats:
    both = r + c
    return 0.5 * np.sum((r - c) ** 2 / np.where(both > 0.0, both, 1.0), axis=2)


def _js(r: Floats, c: Floats) -> Floats:
    middle = 0.5 * (r + c)
    divergence = 0.5 * np.sum(rel_entr(r, middle) + rel_entr(c, middle), axis=2)
    return np.sqrt(np.maximum(divergence, 0.0))


def _log_ratios(R: Floats, name: str) -> Floats:
    rows = np.flatnonzero((R == 0.0).any(axis=1))
    if rows.size:
        raise ValueError(
            f"kind='aitchison' takes logarithms of all bins; row {rows[0]} of {name} has an empty "
            "one. Add a small count to every bin first."
        )
    logs = np.log(R)
    return logs - logs.mean(axis=1, keepdims=True)  # centred log ratios


def _perturbed(R: Floats, lam: Floats, name: str) -> Floats:
    """Return the square roots of r ⊙ λ (Section 5.3)."""
    weighted = R * lam
    sums = weighted.sum(axis=1, keepdims=True)
    rows = np.flatnonzero(sums[:, 0] == 0.0)
    if rows.size:
        raise ValueError(f"Row {rows[0]} of {name} has no mass where lam has some.")
    return np.sqrt(weighted / sums)


def _weights(lam: Any, d: int) -> Floats:
    if lam is None:
        return np.full(d, 1.0 / d)
    lam = real_array(lam, "lam")
    if lam.shape != (d,) or (lam < 0.0).any() or not lam.max(initial=0.0) > 0.0:
        raise ValueError(f"lam must be {d} numbers, none negative and not all zero.")
    return lam / lam.max()


@checked
def simplex_distance(R, S=None, kind="tv", *, lam=None):
    """Return distances between histograms that compare them bin by bin.

    Parameters
    ----------
    R : {array-like, sparse matrix} of shape (n, d)
        Histograms, one a row.
    S : {array-like, sparse matrix} of shape (n', d) or None, default=None
        Others; R itself by default.
    kind : {"tv", "l1", "l2", "hellinger", "chi2", "js", "aitchison", "lebanon"}, default="tv"
        Total variation ½‖r - c‖₁; ‖r - c‖₁; ‖r - c‖₂; ‖√r - √c‖₂; ½Σ(r - c)²/(r + c); the square
        root of the Jensen-Shannon divergence; the Euclidean distance of centred logarithms; the
        arc cosine of ⟨√(r ⊙ λ), √(c ⊙ λ)⟩ of Lebanon (2006), r ⊙ λ being r weighted by λ.
    lam : array-like of shape (d,) or None, default=None
        λ of "lebanon", up to scale; uniform by default, which is Fisher's geodesic distance over
        two.

    Returns
    -------
    distances : ndarray of shape (n, n')
        Distances.

    Examples
    --------
    >>> from octavo.metric import simplex_distance
    >>> R = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    >>> float(simplex_distance(R, kind="tv")[0, 1])
    0.5
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    R = as_histograms(R, "R")
    S = R if S is None else as_histograms(S, "S")
    if R.shape[1] != S.shape[1]:
        raise ValueError(f"R has {R.shape[1]} bins and S has {S.shape[1]}.")
    if kind in ("tv", "l1"):
        return cdist(R, S, "cityblock") * (0.5 if kind == "tv" else 1.0)
    if kind == "l2":
        return cdist(R, S)
    if kind == "hellinger":
        return cdist(np.sqrt(R), np.sqrt(S))  # √(Σ (√r - √c)²)
    if kind == "aitchison":
        return cdist(_log_ratios(R, "R"), _log_ratios(S, "S"))
    if kind == "lebanon":
        weights = _weights(lam, R.shape[1])
        one, two = _perturbed(R, weights, "R"), _perturbed(S, weights, "S")
        # by the chord: the arc cosine of a number near one has half its digits
        return 2.0 * np.arcsin(np.minimum(0.5 * cdist(one, two), 1.0))
    return _rowwise(R, S, _chi2 if kind == "chi2" else _js)


class HellingerTransformer(OneToOneFeatureMixin, TransformerMixin, SoundEstimator):
    """Take square roots of histograms, so that Euclidean distances are Hellinger's.

    What learns a Mahalanobis distance or draws straight lines works better on these than on
    histograms as they are (Section 6.2.1). For anything but histograms,
    `sklearn.preprocessing.PowerTransformer` chooses its power.

    Parameters
    ----------
    normalize : bool, default=False
        Whether rows are divided by their sums first. Rows that do not sum to one are refused
        otherwise.

    Attributes
    ----------
    n_features_in_ : int
        Number of bins seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of bins seen during fit.

    References
    ----------
    .. [1] Cuturi and Avis (2014). Ground metric learning. JMLR 15:533-564.

    Examples
    --------
    >>> from octavo.metric import HellingerTransformer
    >>> HellingerTransformer().fit_transform([[0.25, 0.75, 0.0]]).round(3).tolist()
    [[0.5, 0.866, 0.0]]
    """

    _parameter_constraints: dict[str, Any] = {"normalize": ["boolean"]}

    def __init__(self, normalize=False):
        self.normalize = normalize

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.requires_fit = True
        return tags

    def _roots(self, X, reset):
        least = 2 if reset else 1
        X = validate_rows(
            self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_features=least
        )
        return np.sqrt(as_histograms(X, "X", normalize=self.normalize))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Look at the histograms; nothing is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._roots(X, reset=True)
        return self

    def transform(self, X):
        """Return the square roots.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            Rows of length one.
        """
        check_is_fitted(self)
        return self._roots(X, reset=False)
