"""Multidimensional scaling by SSTRESS, and its adaptation when dissimilarities change.

Reference: Meyer, Bonnabel and Sepulchre (2011), Section 8.4.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.metric.fixed_rank.regression import fit_from, warn_unless_converged
from octavo.metric.fixed_rank.starts import check_magnitude, check_rank

__all__ = ["OnlineMDS"]


def known_pairs(D: Any) -> tuple[Floats, Indices, Floats]:
    """Return dissimilarities, and the pairs i < j that are known with their values."""
    D = real_array(D, "D", finite=False)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or len(D) < 2:
        raise ValueError(f"D must be square with at least two rows, got shape {D.shape}.")
    if np.isinf(D).any():
        raise ValueError("D contains infinity; NaN marks dissimilarities that are not known.")
    known = np.where(np.isnan(D), 0.0, D)
    check_magnitude(known, "D")
    i, j = np.unravel_index(int(np.argmin(known)), D.shape)
    if known[i, j] < 0.0:
        raise ValueError(f"Dissimilarities must not be negative; D[{i}, {j}] is {D[i, j]:g}.")
    gap = np.where(np.isnan(D) != np.isnan(D.T), np.inf, np.abs(known - known.T))
    if gap.max() > 1e-8 * known.max():
        i, j = np.unravel_index(int(np.argmax(gap)), D.shape)
        raise ValueError(
            f"D must be symmetric; D[{i}, {j}] is {D[i, j]:g} and D[{j}, {i}] is {D[j, i]:g}."
        )
    upper = np.triu(~np.isnan(D), 1)
    pairs = np.argwhere(upper)
    if not len(pairs):
        raise ValueError("D holds no dissimilarity between two items: all are NaN.")
    return D, pairs, D[upper]


def classical_scaling(D: Floats, r: int) -> Floats:
    """Return the embedding of classical scaling; gaps are filled by shortest paths."""
    if np.isnan(D).any():
        filled = shortest_path(np.where(np.isnan(D), np.inf, D), directed=False)
        far = np.isinf(filled)
        filled[far] = 2.0 * filled[~far].max()  # parts that nothing joins
        D = filled
    squared = D**2
    # Double centring: classical scaling
    center = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * center)
    kept = np.maximum(values[::-1][:r], 0.0)
    return vectors[:, ::-1][:, :r] * np.sqrt(kept)


class OnlineMDS(CallbackSupportMixin, SoundEstimator):
    """Place items so that squared distances are squared dissimilarities, and follow changes.

    Minimises SSTRESS = Σ (‖g_i - g_j‖² - δ_ij²)² by descent on the coordinates. When a
    dissimilarity changes, `update` moves the two items it names and no others: the map stays
    recognisable and a change costs O(rank).

    For a map that is made once and must be faithful to small distances, `sklearn.manifold.MDS`
    (SMACOF, of distances that are not squared) is the better choice.

    Parameters
    ----------
    rank : int, default=2
        Dimension of the map.
    learning_rate : float, default=0.5
        Of `update`, in (0, 1]: how much of the way to the new dissimilarity is gone.
    init : {"classical", "random"} or array-like of shape (n_items, rank), default="classical"
        Coordinates to start from.
    tol : float, default=1e-7
        Ends when the relative change of the cost or of the coordinates is below.
    max_iter : int, default=3000
        Most steps of `fit`.
    random_state : int, RandomState instance or None, default=None
        For a random start, and for the little noise that a flat one needs.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_items, rank)
        Coordinates.
    objective_ : float
        SSTRESS at the end of `fit`, over pairs i < j that are known.
    n_iter_ : int
        Steps of `fit`.

    References
    ----------
    .. [1] Meyer, Bonnabel and Sepulchre (2011). Regression on fixed-rank positive semidefinite
       matrices: a Riemannian approach. JMLR 12:593-625, Section 8.4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import OnlineMDS
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> mds = OnlineMDS(rank=2).fit(D)
    >>> for _ in range(50):
    ...     _ = mds.update(0, 1, 2.0)
    >>> round(float(np.linalg.norm(mds.embedding_[0] - mds.embedding_[1])), 3)
    2.0
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "init": [StrOptions({"classical", "random"}), "array-like"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        *,
        learning_rate=0.5,
        init="classical",
        tol=1e-7,
        max_iter=3000,
        random_state=None,
    ):
        self.rank = rank
        self.learning_rate = learning_rate
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, D, y=None):
        """Place the items.

        Parameters
        ----------
        D : array-like of shape (n_items, n_items)
            Dissimilarities, symmetric; NaN where not known.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        D, pairs, delta = known_pairs(D)
        n = len(D)
        r = check_rank(self.rank, n, "flat", "n_items")
        G = self._start(D, delta, r)
        with FitProgress(self, self.max_iter, D) as progress:
            fit = fit_from(
                PairDifferences(n, pairs),
                delta**2,
                None,
                G,
                "flat",
                tol=self.tol,
                max_iter=self.max_iter,
                on_step=lambda cost: progress.step(),
            )
        self.embedding_ = fit.G
        # SSTRESS is 2 n times the half mean square
        self.objective_ = 2.0 * len(pairs) * fit.descent.costs[-1]  # the cost is half a mean
        self.n_iter_ = fit.descent.n_iter
        warn_unless_converged(self, fit.descent, self.max_iter)
        return self

    def _start(self, D, delta, r):
        rng = check_random_state(self.random_state)
        n, unit = len(D), max(float(delta.max()), 1e-300)
        if not isinstance(self.init, str):
            G = np.array(real_array(self.init, "init"))
            if G.shape != (n, r):
                raise ValueError(f"init must have shape (n_items, rank) = {(n, r)}, got {G.shape}.")
            return G
        if self.init == "random":
            return unit * rng.standard_normal((n, r)) / np.sqrt(r)
        # A coordinate that is zero for all items stays zero for ever.
        return classical_scaling(D, r) + 1e-6 * unit * rng.standard_normal((n, r))

    def update(self, i, j, delta):
        """Move two items towards a dissimilarity that is new or has changed.

        Parameters
        ----------
        i, j : int
            The items.
        delta : float
            Their dissimilarity.

        Returns
        -------
        self : object
            The map, changed.
        """
        check_is_fitted(self)
        n = len(self.embedding_)
        for name, item in (("i", i), ("j", j)):
            if not isinstance(item, (int, np.integer)) or not 0 <= item < n:
                raise ValueError(f"{name} must be an item, 0 to {n - 1}; got {item!r}.")
        if i == j:
            raise ValueError(f"i and j must be two items; both are {i}.")
        if not isinstance(delta, (int, float, np.number)) or not 0.0 <= float(delta) < 1e60:
            raise ValueError(f"delta must be a dissimilarity, at least 0; got {delta!r}.")
        apart = self.embedding_[i] - self.embedding_[j]
        squared = float(apart @ apart)
        if squared == 0.0 and float(delta) > 0.0:  # no direction: any serves
            apart = np.zeros_like(apart)
            apart[0] = 1e-3 * delta
            squared = float(apart @ apart)
        largest = max(squared, float(delta) ** 2)
        if largest > 0.0:
            # Eq. (9) with a = e_i - e_j and 4 s = η / max(‖a‖², δ²), which cannot overshoot.
            move = 0.5 * self.learning_rate * (squared - float(delta) ** 2) / largest * apart
            self.embedding_[i] -= move
            self.embedding_[j] += move
        return self
