"""The autoregression of features: second moments once, and the best coefficients for any future.

The loss in W, and that of the coming graph's features, are squares with a sum of absolute values:
for given features of the coming graph, the best W is a lasso from second moments. What is left
is a smooth convex function of those features, whose slope needs the residual alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.proximal.gram_lasso import gram_lasso, gram_lasso_kkt

STRUCTURES = ("kron", "full", "diag")
FULL_FEATURES = 3000


class Regression(NamedTuple):
    """Coefficients W (groups, q, c), the features they foresee (d,), and the two losses."""

    W: Floats
    predicted: Floats
    value: float


class FeatureRegression:
    """``(1/T)‖X_T − X_{T−1}W‖² + κ‖W‖₁ + (1/d)‖ω(A) − Wᵀω(A_T)‖²`` as a function of ω(A), Eq. (3).

    Parameters
    ----------
    features : ndarray of shape (n_times, units, width)
        Of each snapshot, oldest first.
    order : int
        Lags; [ω(A_{t−1}), ω(A_{t−2}), …] are stacked (Section 4.3).
    kappa : float
    structure : {"kron", "full", "diag"}
        W is K ⊗ I (one matrix for all units), free, or diagonal.
    """

    def __init__(self, features: Floats, order: int, kappa: float, structure: str):
        n_times, units, width = features.shape
        self.d = d = units * width
        if structure == "full":
            if d * order > FULL_FEATURES:
                raise ValueError(
                    f"var_structure='full' has ({d} x {order}) x {d} coefficients, too many to "
                    "fit or to hold; use 'kron' or 'diag'."
                )
            features = features.reshape(n_times, 1, d)
        # one axis of groups with coefficients of their own, one of units that share them
        if structure == "diag":
            series = features.reshape(n_times, d, 1, 1)
        else:
            series = features[:, None]
        self.T = n_times - 1  # the paper's T: snapshots are A_0, ..., A_T
        self.n_rows = n_times - order
        self.weight = kappa * series.shape[2]  # ‖K ⊗ I_u‖₁ = u ‖K‖₁
        lagged = np.concatenate(
            [series[order - 1 - lag : n_times - lag] for lag in range(order)], axis=-1
        )
        self.lags, self.targets = lagged[:-1], series[order:]
        self.last = lagged[-1]  # (groups, units, q)
        scale = max(self.T, 1)
        over = "tguq,tguc->gqc"
        self.moments = np.einsum(over, self.lags, self.lags, optimize=True) / scale
        self.cross = np.einsum(over, self.lags, self.targets, optimize=True) / scale
        self.energy = float((self.targets**2).sum()) / scale
        ahead = self.last.transpose(0, 2, 1)
        self.gram = self.moments + ahead @ self.last / d
        self._ahead = ahead / d
        self._start: Floats | None = None

    def fit(self, coming: Floats | None = None, tol: float = 1e-11) -> Regression:
        """Return the best W when the coming graph has features `coming`; without, from the past.

        Parameters
        ----------
        coming : ndarray of shape (d,), default=None
        tol : float

        Returns
        -------
        Regression
        """
        if coming is None:
            W = gram_lasso(self.moments, self.cross, self.weight, tol=tol)
            return Regression(W, self.predict(W), self.loss(W))
        shaped = coming.reshape(self.last.shape[0], self.last.shape[1], -1)
        # the last features and the coming graph's are one more row, at weight 1/d
        pull = self.cross + self._ahead @ shaped
        W = gram_lasso(self.gram, pull, self.weight, self._start, tol=tol)
        self._start = W
        predicted = self.predict(W)
        return Regression(
            W, predicted, self.loss(W) + float(((coming - predicted) ** 2).sum()) / self.d
        )

    def predict(self, W: Floats) -> Floats:
        """Return Wᵀω(A_T)."""
        return (self.last @ W).ravel()

    def loss(self, W: Floats) -> float:
        """Return ``(1/T)‖X_T − X_{T−1}W‖² + κ‖W‖₁``, the paper's J₁, Eq. (2)."""
        off = self.targets - self.lags @ W
        # Eq. (2)
        return float((off**2).sum()) / max(self.T, 1) + self.weight * float(np.abs(W).sum())

    def slope(self, W: Floats, coming: Floats) -> Floats:
        """Return the slope of both squares in W."""
        shaped = coming.reshape(self.last.shape[0], self.last.shape[1], -1)
        return 2.0 * (self.gram @ W - self.cross - self._ahead @ shaped)  # ∇_W of Eq. (3)

    def violation(self, W: Floats, coming: Floats) -> float:
        """Return the largest violation of the optimality conditions in W."""
        shaped = coming.reshape(self.last.shape[0], self.last.shape[1], -1)
        return gram_lasso_kkt(self.gram, self.cross + self._ahead @ shaped, self.weight, W)

    def largest_kappa(self) -> float:
        """Return the least κ at which the past alone gives W = 0."""
        return 2.0 * float(np.abs(self.cross).max(initial=0.0)) / self.last.shape[1]


def coefficients(W: Floats, structure: str) -> Any:
    """Return W as users see it: a matrix, or one row a lag where it is diagonal."""
    return W[:, :, 0].T.copy() if structure == "diag" else W[0].copy()
