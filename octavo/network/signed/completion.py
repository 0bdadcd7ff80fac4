"""Signs of unknown links from a low-rank completion of the network's matrix."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.network.signed.base import SignPredictor
from octavo.network.signed.factors import LOSSES, Factors, alternate, quasi_newton, stochastic
from octavo.network.signed.low_rank import least_nuclear_norm, project_singular_values
from octavo.network.signed.signs import read_signs, undirected_signs

__all__ = ["SignedCompletion"]

NUCLEAR_NODES = 1500
SQUARED_ONLY = ("als", "svp", "nuclear")


class SignedCompletion(CallbackSupportMixin, SignPredictor):
    """Predict the signs of links from a matrix of low rank that has the known signs.

    Weakly balanced networks, where any number of groups like their own and dislike the others,
    have a matrix of as many ranks as groups. What is known of it is completed.

    Parameters
    ----------
    rank : int, default=40
        Rank of the completion.
    loss : {"squared", "sigmoid", "squared_hinge"}, default="squared"
        What a score costs at a known link, Eqs. (13) and (15).
    solver : {"als", "lbfgs", "sgd", "svp", "nuclear"}, default="als"
        Alternating least squares (squared loss only); L-BFGS over both factors; single links in
        random order; singular value projection (Algorithm 1; no penalty); or the least nuclear
        norm (Eq. (9); no rank, no penalty, up to 1,500 nodes).
    alpha : float, default=1.0
        The penalty: Σ loss + alpha (|W|² + |H|²).
    max_iter : int, default=50
        Sweeps. ``"nuclear"`` makes up to a hundred iterations for each.
    symmetric : bool or "auto", default="auto"
        Whether directions are dropped first, and scores are those of both directions; ``"auto"``
        does where the matrix is symmetric.
    tol : float, default=1e-4
        Relative fall of the objective at which to end.
    random_state : int, RandomState instance or None, default=None
        Start of the factors, order of links.
    step : float, default=0.05
        The first step of ``"sgd"`` for the squared losses; eight times that for the sigmoid, which
        is flatter.

    Attributes
    ----------
    W_, H_ : ndarray of shape (n_nodes, rank)
        The factors: W_ @ H_.T is the completion.
    losses_ : list of float
        Objective after each sweep; never rising for ``"als"``.
    n_iter_ : int
        Sweeps that were made.
    majority_ : int
        The sign that most links have; the answer for nodes without a link.
    isolated_ : ndarray
        Nodes without a known link: their scores are zero.
    n_conflicts_ : int
        Pairs whose two directions disagree and were dropped, where directions are.
    n_nodes_ : int
        Number of nodes.

    See Also
    --------
    ImbalancePredictor : The local view: balance of cycles.
    SignedSpectralClustering : Groups from the completion.

    References
    ----------
    Chiang, Hsieh, Natarajan, Dhillon and Tewari (2014), "Prediction and Clustering in Signed
    Networks: A Local to Global Perspective", Section 4.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import SignedCompletion
    >>> network = make_weakly_balanced([30, 30, 40], 0.3, random_state=0)
    >>> model = SignedCompletion(rank=3, random_state=0).fit(network.A)
    >>> model.predict([[0, 1], [0, 40], [0, 99]]).tolist()
    [1, -1, -1]
    """

    _parameter_constraints = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(LOSSES))],
        "solver": [StrOptions({"als", "lbfgs", "sgd", "svp", "nuclear"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "symmetric": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=40,
        loss="squared",
        solver="als",
        alpha=1.0,
        max_iter=50,
        symmetric="auto",
        tol=1e-4,
        random_state=None,
        *,
        step=0.05,
    ):
        self.rank = rank
        self.loss = loss
        self.solver = solver
        self.alpha = alpha
        self.max_iter = max_iter
        self.symmetric = symmetric
        self.tol = tol
        self.random_state = random_state
        self.step = step

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Complete the matrix of a network.

        Parameters
        ----------
        A : graph
            Links of 1 and -1: matrix (0 is unknown), networkx graph, list of links.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : SignedCompletion
            The fitted estimator.
        """
        if self.solver in SQUARED_ONLY and self.loss != "squared":
            raise ValueError(
                f"solver={self.solver!r} minimises the squared loss only; for loss={self.loss!r} "
                "use 'lbfgs' or 'sgd'."
            )
        matrix = self._read(A)
        self._count(matrix)
        touched = np.diff(matrix.indptr) + np.bincount(matrix.indices, minlength=self.n_nodes_)
        self.isolated_ = np.flatnonzero(touched == 0)
        total = self.max_iter * (100 if self.solver == "nuclear" else 1)
        with FitProgress(self, total, A, step_name="sweep") as progress:
            found = self._solve(matrix, total, progress.step)
        self.W_, self.H_, self.losses_ = found.W, found.H, found.losses
        self.n_iter_ = len(found.losses)
        if not (np.isfinite(found.W).all() and np.isfinite(found.H).all()):
            raise ValueError(
                f"The factors left the range of doubles with step={self.step:g}; try a smaller one."
            )
        if not found.converged:
            back = 5 if self.solver == "sgd" else 1  # sweeps over which settling is judged
            over = f" in {back} sweeps" if back > 1 else ""
            past = found.losses[-1 - back] if self.n_iter_ > back else np.inf
            warnings.warn(
                f"{self.solver} has not settled in {self.n_iter_} sweeps: the objective still "
                f"changes by {abs(past / found.losses[-1] - 1.0):.1e} of itself{over}, "
                f"tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _read(self, A: Any) -> sp.csr_array:
        given = read_signs(A).matrix
        if self.symmetric == "auto":
            self._mirrored = (given != given.T).nnz == 0
        else:
            self._mirrored = bool(self.symmetric)
        self.n_conflicts_ = 0
        if not self._mirrored:
            return given
        links, self.n_conflicts_ = undirected_signs(A)
        return links.matrix

    def _solve(self, matrix: sp.csr_array, max_iter: int, report: Any) -> Factors:
        rng = check_random_state(self.random_state)
        n = self.n_nodes_
        rank = min(self.rank, n)
        if self.solver == "svp":
            return project_singular_values(matrix, rank, max_iter, self.tol, report, rng)
        if self.solver == "nuclear":
            if n > NUCLEAR_NODES:
                raise ValueError(
                    f"solver='nuclear' decomposes a dense matrix at every step: at most "
                    f"{NUCLEAR_NODES} nodes, got {n}. Use 'als'."
                )
            X, norms, converged = least_nuclear_norm(matrix, max_iter, self.tol, report)
            U, values, Vt = np.linalg.svd(X, full_matrices=False)
            kept = values > 1e-10 * values[0]
            root = np.sqrt(values[kept])
            return Factors(U[:, kept] * root, Vt[kept].T * root, norms, converged)
        W, H = rng.standard_normal((2, n, rank)) / np.sqrt(rank)
        if self.solver == "als":
            # a penalty of zero leaves rows with few links undetermined: the least of them is taken
            alpha = max(self.alpha, 1e-9)
            return alternate(matrix, H, alpha, max_iter, self.tol, report)
        # a node without links on a side has no say there
        W = 0.1 * W * (np.diff(matrix.indptr) > 0)[:, None]
        H = 0.1 * H * (np.bincount(matrix.indices, minlength=n) > 0)[:, None]
        options = (self.alpha, self.loss, max_iter, self.tol, report)
        if self.solver == "lbfgs":
            return quasi_newton(matrix, (W, H), *options)
        return stochastic(matrix, (W, H), *options, rng, self.step)

    def _scores(self, pairs: Any) -> Floats:
        i, j = pairs.T
        scores = np.einsum("ij,ij->i", self.W_[i], self.H_[j])
        if self._mirrored:
            scores = (scores + np.einsum("ij,ij->i", self.W_[j], self.H_[i])) / 2.0
        return scores
