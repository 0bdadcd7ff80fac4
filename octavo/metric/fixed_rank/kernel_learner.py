"""Improve a kernel matrix by what is known of distances between its items.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 9.1 and 10.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.metric.fixed_rank.constraints import (
    check_pair_targets,
    check_pairs,
    default_pairs,
    label_pairs,
)
from octavo.metric.fixed_rank.losses import check_relation
from octavo.metric.fixed_rank.regression import fit_from, warn_unless_converged
from octavo.metric.fixed_rank.starts import check_magnitude, check_rank, check_targets

__all__ = ["LowRankKernelLearner"]


def kernel_root(K: Floats, r: int) -> Floats:
    """Return the factor (n, r) of the best approximation of rank r to a kernel matrix."""
    n = len(K)
    values, vectors = eigh(K, subset_by_index=[n - r, n - 1])
    if values[-1] <= 0.0:
        raise ValueError("K has no positive eigenvalue: it is no kernel matrix.")
    floor = 1e-8 * values[-1]  # a direction of length zero would never grow
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, floor)))[:, ::-1])


def check_kernel(K: Any) -> Floats:
    """Return a kernel matrix as floats; refuse one that is not square or not symmetric."""
    K = real_array(K, "K")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) < 2:
        raise ValueError(f"K must be square with at least two rows, got shape {K.shape}.")
    check_magnitude(K, "K")
    gap = float(np.max(np.abs(K - K.T)))
    if gap > 1e-8 * float(np.max(np.abs(K))):
        i, j = np.unravel_index(int(np.argmax(np.abs(K - K.T))), K.shape)
        raise ValueError(
            f"K must be symmetric; entries ({i}, {j}) and ({j}, {i}) differ by {gap:.3g}."
        )
    return 0.5 * (K + K.T)


class LowRankKernelLearner(CallbackSupportMixin, SoundEstimator):
    """Learn a kernel matrix of low rank from squared distances, or bounds, between its items.

    Transductive: the matrix is that of the items at hand, and says nothing of new ones. Where
    items have features and new rows will come, use `LowRankMahalanobis`, on Nyström features for a
    distance that is not linear.

    Parameters
    ----------
    rank : int or None, default=2
        Rank of the kernel matrix; None stands for the number of items.
    geometry : {"polar", "flat"}, default="polar"
        As for `FixedRankPSDRegressor`. "flat" moves only items that stand in a pair.
    lam : float, default=0.5
        The paper's λ for "polar"; 0 keeps the range of the given kernel, which is the better choice
        for very few pairs.
    n_pairs : {"auto"} or int, default="auto"
        Pairs that `fit_labels` draws; as for `LowRankMahalanobis`.
    margin : float, default=0.25
        The paper's α of `fit_labels`: squared distances shall shrink to (1 - α) times theirs within
        a class, and grow to (1 + α) times theirs between two.
    tol : float, default=1e-5
        As for `FixedRankPSDRegressor`.
    max_iter : int, default=1000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        For the pairs of `fit_labels`, and for a start without a kernel.

    Attributes
    ----------
    kernel_factor_ : ndarray of shape (n_items, rank)
        G: the kernel matrix is GGᵀ, and G an embedding of the items.
    cost_history_ : ndarray of shape (n_iter_ + 1,)
        The cost at every iterate, the start first.
    objective_ : float
        The cost at the end.
    n_iter_ : int
        Steps taken.

    References
    ----------
    .. [1] Meyer, Bonnabel and Sepulchre (2011). Regression on fixed-rank positive semidefinite
       matrices: a Riemannian approach. JMLR 12:593-625.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import LowRankKernelLearner
    >>> K = np.eye(4) + 1.0
    >>> pairs, squared = [[0, 1], [2, 3], [0, 2], [1, 3]], [0.1, 0.1, 4.0, 4.0]
    >>> model = LowRankKernelLearner(rank=3, geometry="flat", tol=1e-12)
    >>> model = model.fit(K, pairs, squared)
    >>> G = model.kernel_factor_
    >>> round(float(np.sum((G[0] - G[1]) ** 2)), 3)
    0.1
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "geometry": [StrOptions({"polar", "flat"})],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "n_pairs": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, 1, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        geometry="polar",
        lam=0.5,
        *,
        n_pairs="auto",
        margin=0.25,
        tol=1e-5,
        max_iter=1000,
        random_state=None,
    ):
        self.rank = rank
        self.geometry = geometry
        self.lam = lam
        self.n_pairs = n_pairs
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, K, pairs, target, relation=None):
        """Learn the kernel from pairs.

        Parameters
        ----------
        K : array-like of shape (n_items, n_items) or int
            The kernel matrix to improve, or the number of items: the start is then the identity
            (full rank) or random.
        pairs : array-like of shape (n_pairs, 2)
            Positions of items.
        target : array-like of shape (n_pairs,) or float
            Squared distances.
        relation : array-like of shape (n_pairs,) or int, default=None
            0 where the squared distance shall equal the target, 1 at most, -1 at least. None stands
            for zeros.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        rng = check_random_state(self.random_state)
        G = self._start(K, rng)
        n = len(G)
        pairs = check_pairs(pairs, n)
        relation = check_relation(relation, len(pairs))
        target = check_pair_targets(target, len(pairs))
        check_targets(target, relation, "target")
        idle = n - len(np.unique(pairs))
        if idle and self.geometry == "flat":
            warnings.warn(
                f"{idle} of {n} items stand in no pair: the flat geometry leaves them where they "
                "are. geometry='polar' moves all.",
                UserWarning,
                stacklevel=2,
            )
        return self._learn(PairDifferences(n, pairs), target, relation, G)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit_labels(self, K, y):
        """Learn the kernel from labels: classes closer together, and further apart.

        Parameters
        ----------
        K : array-like of shape (n_items, n_items)
            The kernel matrix to improve.
        y : array-like of shape (n_items,)
            Labels of all items; where some are not known, give pairs of the others to `fit`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        K = check_kernel(K)
        classes, codes = encode_classes(y, owner=self)
        if len(codes) != len(K):
            raise ValueError(f"y must have one label for each of {len(K)} items, got {len(codes)}.")
        rng = check_random_state(self.random_state)
        wanted = (
            default_pairs(len(K), len(classes)) if self.n_pairs == "auto" else int(self.n_pairs)
        )
        pairs, relation = label_pairs(codes, wanted, rng)
        i, j = pairs.T
        squared = np.maximum(K[i, i] + K[j, j] - 2.0 * K[i, j], 0.0)  # ‖φ(x_i) - φ(x_j)‖²
        target = squared * (1.0 - self.margin * relation)  # y (1 ∓ α): Section 10.2.1
        return self._learn(PairDifferences(len(K), pairs), target, relation, self._start(K, rng))

    def _start(self, K, rng):
        if isinstance(K, (Integral, np.integer)) and not isinstance(K, bool):
            n = int(K)
            if n < 2:
                raise ValueError(f"K must be a matrix or a number of items, at least 2; got {n}.")
            r = check_rank(self.rank, n, self.geometry, "n_items")
            # Full rank starts at the identity
            return np.eye(n) if r == n else rng.standard_normal((n, r)) / np.sqrt(r)
        K = check_kernel(K)
        return kernel_root(K, check_rank(self.rank, len(K), self.geometry, "n_items"))

    def _learn(self, rows, target, relation, G):
        with FitProgress(self, self.max_iter, None, target) as progress:
            fit = fit_from(
                rows,
                target,
                relation,
                G,
                self.geometry,
                self.lam,
                tol=self.tol,
                max_iter=self.max_iter,
                on_step=lambda cost: progress.step(),
            )
        self.kernel_factor_ = fit.G
        self.cost_history_ = np.array(fit.descent.costs)
        self.objective_, self.n_iter_ = fit.descent.costs[-1], fit.descent.n_iter
        warn_unless_converged(self, fit.descent, self.max_iter)
        return self

    def get_kernel(self):
        """Return the learned kernel matrix.

        Returns
        -------
        K : ndarray of shape (n_items, n_items)
            GGᵀ.
        """
        check_is_fitted(self)
        return self.kernel_factor_ @ self.kernel_factor_.T
