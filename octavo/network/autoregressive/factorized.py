"""The coming graph as a product of two sparse factors: no matrix is ever formed (Section 5.3)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.proximal.nuclear_l1 import cut_entries
from octavo.network.autoregressive.features import RowProjection, read_feature_map
from octavo.network.autoregressive.regression import FeatureRegression, Regression, coefficients
from octavo.network.autoregressive.snapshots import check_cells, read_snapshots

__all__ = ["FactorizedLinkPredictor"]

STEPS = 5  # of each factor, between two regressions
LARGEST_MATRIX = 10**8


class SparseFactors(NamedTuple):
    """U (n, k) and V (m, k), the regression, and the objective after each sweep."""

    U: Floats
    V: Floats
    regression: Regression
    objectives: list[float]
    converged: bool


def starting_factors(target: Floats, psi: Floats, rank: int, nonneg: bool) -> tuple[Floats, Floats]:
    """Return factors of ``target Ψᵀ`` cut to a rank, with no negative entry where none may be.

    Parameters
    ----------
    target : ndarray of shape (n, r)
    psi : ndarray of shape (m, r)
    rank : int
    nonneg : bool
        Of each pair of singular vectors the larger of the positive and the negative part is
        kept, as in the usual start of nonnegative factorisations.

    Returns
    -------
    U : ndarray of shape (n, rank)
    V : ndarray of shape (m, rank)
    """
    Q, R = np.linalg.qr(target)
    Z, S = np.linalg.qr(psi)
    left, values, right = np.linalg.svd(R @ S.T)
    count = min(rank, len(values))
    U, V = Q @ left[:, :count], Z @ right[:count].T
    if nonneg:
        plus = np.linalg.norm(np.maximum(U, 0), axis=0) * np.linalg.norm(np.maximum(V, 0), axis=0)
        minus = np.linalg.norm(np.minimum(U, 0), axis=0) * np.linalg.norm(np.minimum(V, 0), axis=0)
        sign = np.where(plus >= minus, 1.0, -1.0)
        U, V = np.maximum(U * sign, 0.0), np.maximum(V * sign, 0.0)
    root = np.sqrt(values[:count])
    return U * root, V * root


def alternate_factors(
    omega: RowProjection,
    regression: FeatureRegression,
    start: tuple[Floats, Floats],
    alpha: float,
    nonneg: bool,
    max_iter: int,
    tol: float,
    report: Callable[[], bool],
) -> SparseFactors:
    """Lower ``ℓ(UVᵀ, W) + alpha ‖U‖₁ ‖V‖₁`` by steps in U, in V, and the best W; never a rise."""
    (U, V), psi, d = start, omega.psi, regression.d
    n, r = omega.units, omega.width
    psi_norm = np.linalg.norm(psi, 2) ** 2
    found = regression.fit((U @ (V.T @ psi)).ravel())  # ω(UVᵀ) = U(VᵀΨ): the product is not formed
    objectives: list[float] = []
    converged = False
    for _ in range(max_iter):
        target = found.predicted.reshape(n, r)
        H = psi.T @ V  # ω(UVᵀ) = U Hᵀ
        curve = 2.0 / d * np.linalg.norm(H, 2) ** 2  # the curvature of (1/d)‖UHᵀ − Wᵀω(A_T)‖² in U
        for _ in range(STEPS if curve > 0.0 else 0):
            slope = 2.0 / d * (U @ H.T - target) @ H
            U = cut_entries(U - slope / curve, alpha * np.abs(V).sum() / curve, nonneg)
        curve = 2.0 / d * psi_norm * np.linalg.norm(U, 2) ** 2  # and in V
        for _ in range(STEPS if curve > 0.0 else 0):
            slope = 2.0 / d * psi @ ((U @ (V.T @ psi) - target).T @ U)
            V = cut_entries(V - slope / curve, alpha * np.abs(U).sum() / curve, nonneg)
        sizes = np.abs(U).sum(), np.abs(V).sum()
        if min(sizes) > 0.0:  # the product and the penalty stay as they are
            balance = np.sqrt(sizes[1] / sizes[0])
            U, V = U * balance, V / balance
        found = regression.fit((U @ (V.T @ psi)).ravel())
        objectives.append(found.value + alpha * float(np.abs(U).sum() * np.abs(V).sum()))
        if len(objectives) > 1 and objectives[-2] - objectives[-1] <= tol * abs(objectives[-1]):
            converged = True
            break
        if report():
            break
    return SparseFactors(U, V, found, objectives, converged)


class FactorizedLinkPredictor(CallbackSupportMixin, SoundEstimator):
    """Predict the next graph of a long or large series as a product of two sparse factors.

    The penalty on the matrix becomes ``alpha ‖U‖₁ ‖V‖₁`` on its factors: no longer convex, with
    one parameter in place of two, and memory that grows with nodes and links only.

    Parameters
    ----------
    rank : int, default=5
        Columns of the factors, and directions of the features.
    alpha : float, default=1e-4
        The penalty, the paper's λ; not free of scale.
    kappa : float, default=0.1
        Penalty on the coefficients, as for `AutoregressiveLinkPredictor`.
    order : int, default=1
        Lags.
    feature_map : {"svd", "out_degree"} or ndarray of shape (m, r), default="svd"
        Directions on which each row's links are projected.
    var_structure : {"kron", "diag"}, default="kron"
        Coefficients that all nodes share, or one a feature.
    nonneg : bool, default=True
        Whether factors, and so weights, are never negative.
    max_iter : int, default=200
        Most sweeps.
    tol : float, default=1e-6
        Relative fall of the objective at which to end.
    random_state : int, RandomState instance or None, default=None
        Start of the singular vectors of large graphs.

    Attributes
    ----------
    U_ : ndarray of shape (n, rank)
        Factor of the rows.
    V_ : ndarray of shape (m, rank)
        Factor of the columns: U_ @ V_.T is the coming matrix.
    var_coef_ : ndarray
        As of `AutoregressiveLinkPredictor`.
    predicted_features_ : ndarray of shape (d,)
        What the autoregression foresees.
    objective_ : float
        At the end.
    objectives_ : list of float
        After each sweep; never rising.
    n_iter_ : int
        Sweeps that were made.

    See Also
    --------
    AutoregressiveLinkPredictor : The convex problem.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Section 5.3.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> from octavo.network import FactorizedLinkPredictor
    >>> series = make_autoregressive_graphs(n=30, rank=3, T=8, random_state=0)
    >>> model = FactorizedLinkPredictor(3, 1e-6, kappa=1e-3).fit(series.snapshots)
    >>> model.predict_scores([[0, 1], [2, 3]]).shape
    (2,)
    """

    _parameter_constraints = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "kappa": [Interval(Real, 0, None, closed="left")],
        "order": [Interval(Integral, 1, None, closed="left")],
        "feature_map": [StrOptions({"svd", "out_degree"}), np.ndarray],
        "var_structure": [StrOptions({"kron", "diag"})],
        "nonneg": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=5,
        alpha=1e-4,
        kappa=0.1,
        *,
        order=1,
        feature_map="svd",
        var_structure="kron",
        nonneg=True,
        max_iter=200,
        tol=1e-6,
        random_state=None,
    ):
        self.rank = rank
        self.alpha = alpha
        self.kappa = kappa
        self.order = order
        self.feature_map = feature_map
        self.var_structure = var_structure
        self.nonneg = nonneg
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, snapshots: Any, y: Any = None) -> Self:
        """Predict the graph that follows a series.

        Parameters
        ----------
        snapshots : array of shape (T, n, m), or list of matrices or networkx graphs
            Oldest first; sparse ones stay so.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : FactorizedLinkPredictor
            The fitted estimator.
        """
        matrices = read_snapshots(snapshots, self.nonneg)
        if len(matrices) <= self.order:
            raise ValueError(
                f"order={self.order} needs at least {self.order + 1} snapshots; got "
                f"{len(matrices)}."
            )
        rng = check_random_state(self.random_state)
        omega = read_feature_map(self.feature_map, matrices, self.rank, rng)
        if not isinstance(omega, RowProjection):
            raise ValueError(
                "feature_map must be 'svd', 'out_degree' or an array of shape (m, r) here; other "
                "features are for AutoregressiveLinkPredictor."
            )
        features = np.array([omega(matrix) for matrix in matrices])
        regression = FeatureRegression(
            features.reshape(len(matrices), omega.units, omega.width),
            self.order,
            self.kappa,
            self.var_structure,
        )
        target = regression.fit().predicted.reshape(omega.units, omega.width)
        start = starting_factors(target, omega.psi, self.rank, self.nonneg)
        with FitProgress(self, self.max_iter, snapshots, step_name="sweep") as progress:
            found = alternate_factors(
                omega,
                regression,
                start,
                float(self.alpha),
                self.nonneg,
                self.max_iter,
                self.tol,
                progress.step,
            )
        self.U_, self.V_ = found.U, found.V
        self.var_coef_ = coefficients(found.regression.W, self.var_structure)
        self.predicted_features_ = found.regression.predicted
        self.objectives_, self.objective_ = found.objectives, found.objectives[-1]
        self.n_iter_ = len(found.objectives)
        if not found.converged:
            warnings.warn(
                f"The objective still falls after {self.n_iter_} sweeps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if features.any() and not (self.U_.any() and self.V_.any()):
            warnings.warn(
                f"No link is foreseen: alpha={self.alpha:g} is too large for these weights.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def predict_scores(self, pairs: Any = None) -> Floats:
        """Return the weights foreseen, of some pairs or of all.

        Parameters
        ----------
        pairs : array-like of shape (m, 2), default=None
            A row and a column each; all by default, up to a hundred million of them.

        Returns
        -------
        scores : ndarray of shape (m,), or of the snapshots' shape
            The larger, the likelier the link.
        """
        check_is_fitted(self)
        n, m = len(self.U_), len(self.V_)
        if pairs is None:
            if n * m > LARGEST_MATRIX:
                raise ValueError(f"All {n} x {m} pairs are too many to hold; ask for some.")
            return self.U_ @ self.V_.T
        rows, columns = check_cells(pairs, (n, m)).T
        return np.einsum("ij,ij->i", self.U_[rows], self.V_[columns])
