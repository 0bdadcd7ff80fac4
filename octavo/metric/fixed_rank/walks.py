"""Positions on a manifold from which steps along the steepest descent are tried cheaply.

A walk stands at a matrix W. ``aim`` turns residuals into a direction, with two passes over the
data; after that the predictions at any step along the retraction cost O(n) (flat) or O(n r²)
(polar) and no pass: with P = AG and D = Aξ the flat curve predicts ‖p + s δ‖² row by row, and since
Uᵀξ = 0 the triangular factor of U + sξ is the Cholesky factor of I + s² ξᵀξ. Line searches are
therefore almost free, which the costs of Table 1 of the paper do not know.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from octavo.engine.estimators.arrays import Floats
from octavo.engine.manifolds.fixed_rank import polar_point
from octavo.engine.manifolds.grassmann import orthonormal_factor

_REFRESH = 25  # steps after which products with the data are computed anew
_LARGEST_EXPONENT = 10.0  # of a factor of W in one step: e^10


class Walk(Protocol):
    """A point of a manifold, and the direction in which it will move."""

    max_step: float

    def predictions(self) -> Floats:
        """Return aᵀWa of every row, here."""

    def aim(self, weights: Floats) -> float:
        """Take the direction of minus the gradient Σ w_i a_i a_iᵀ; return minus the slope."""

    def predictions_at(self, step: float) -> Floats:
        """Return aᵀWa of every row after a step."""

    def move(self, step: float) -> float:
        """Take the step; return the relative change of the factor, up to rotation."""

    def factor(self) -> Floats:
        """Return G with W = GGᵀ."""


def _row_squares(P: Floats) -> Floats:
    return np.einsum("ij,ij->i", P, P)


class FlatWalk:
    """Gradient descent on G, Eq. (10)."""

    max_step = np.inf

    def __init__(self, rows: Any, G: Floats) -> None:
        self.rows, self._G, self._moves = rows, np.array(G), 0
        self._P = rows.dot(self._G)

    def predictions(self) -> Floats:
        """Return aᵀWa of every row, here."""
        return _row_squares(self._P)

    def aim(self, weights: Floats) -> float:
        """Take the direction -2MG; return its squared length."""
        xi = -self._gradient_of(weights)
        self._face(xi, self.rows.dot(xi))
        return float(np.sum(xi**2))

    def _gradient_of(self, weights: Floats) -> Floats:
        return 2.0 * self.rows.transposed_dot(weights[:, None] * self._P)  # 2 M G

    def _face(self, xi: Floats, D: Floats) -> None:
        self._xi, self._D = xi, D
        cross = 2.0 * np.einsum("ij,ij->i", self._P, D)
        self._parts = (_row_squares(self._P), cross, _row_squares(D))

    def predictions_at(self, step: float) -> Floats:
        """Return aᵀWa of every row after a step: a parabola each."""
        constant, linear, square = self._parts
        with np.errstate(over="ignore", invalid="ignore"):
            return np.maximum(constant + step * (linear + step * square), 0.0)  # ‖Gᵀa + s ξᵀa‖²

    def move(self, step: float) -> float:
        """Take the step; return the relative change of G."""
        size = max(float(np.linalg.norm(self._G)), 1e-300)
        change = step * float(np.linalg.norm(self._xi)) / size
        self._G = self._G + step * self._xi  # Eq. (10)
        self._moves += 1
        stale = self._moves % _REFRESH == 0
        self._P = self.rows.dot(self._G) if stale else self._P + step * self._D
        return float(change)

    def factor(self) -> Floats:
        """Return G."""
        return self._G

    def stand_at(self, G: Floats) -> None:
        """Be at GGᵀ."""
        self._G, self._P = G, self.rows.dot(G)


class ConjugateWalk(FlatWalk):
    """Conjugate gradients on G, which remember the last direction (Polak and Ribière).

    They need no product with the data beyond those of Eq. (10): products add up as directions do.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    G : ndarray of shape (d, r)
        Where to start.
    precondition : callable, default=None
        Turns a gradient into the direction to descend against, by the inverse of a positive
        definite matrix (d, d): the metric in which steps are measured. None takes it as it is.
    """

    def __init__(
        self, rows: Any, G: Floats, precondition: Callable[[Floats], Floats] | None = None
    ) -> None:
        super().__init__(rows, G)
        self._precondition = precondition
        self._last: tuple[Floats, float] | None = None

    def aim(self, weights: Floats) -> float:
        """Take the direction; return minus the slope of the cost along it."""
        gradient = self._gradient_of(weights)
        turned = gradient if self._precondition is None else self._precondition(gradient)
        xi, size = -turned, float(np.sum(gradient * turned))
        D, slope, last = self.rows.dot(xi), size, self._last
        self._last = gradient, size
        if last is not None:
            gain = size - float(np.sum(turned * last[0]))  # Polak and Ribière
            memory = max(gain, 0.0) / max(last[1], 1e-300)  # never negative: else it begins again
            bent = xi + memory * self._xi
            slope_bent = -float(np.sum(gradient * bent))
            if memory > 0.0 and slope_bent > 0.0:
                stale = self._moves % _REFRESH == 0
                D = self.rows.dot(bent) if stale else D + memory * self._D
                xi, slope = bent, slope_bent
        self._face(xi, D)
        return slope


class PolarWalk:
    """Gradient descent on a subspace and a form within it, Eq. (21).

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    G : ndarray of shape (d, r)
        Where to start.
    lam : float
        Weight of the subspace.
    first_order : bool, default=False
        Move the form by W - sWMW, the step of the LogDet divergence, in place of the exponential.
    """

    def __init__(self, rows: Any, G: Floats, lam: float, first_order: bool = False) -> None:
        self.rows, self.lam, self._first_order = rows, lam, first_order
        self.U, self.R = polar_point(G)
        self._Q, self._moves = rows.dot(self.U), 0
        self.max_step = np.inf

    def stand_at(self, G: Floats) -> None:
        """Be at GGᵀ."""
        self.U, self.R = polar_point(G)
        self._Q = self.rows.dot(self.U)

    def predictions(self) -> Floats:
        """Return aᵀWa of every row, here."""
        return _row_squares(self._Q @ self.R)

    def aim(self, weights: Floats) -> float:
        """Take the direction of steepest descent; return its squared length, Eq. (17)."""
        lam, U, R, Q = self.lam, self.U, self.R, self._Q
        weighted = weights[:, None] * Q
        inner = Q.T @ weighted  # UᵀMU
        form = R.T @ (0.5 * (inner + inner.T)) @ R  # RᵀUᵀMUR, with Rᵀ where Eq. (21) prints R
        self._omega, self._V = np.linalg.eigh((1.0 - lam) * form)
        slope = (1.0 - lam) * float(np.sum(form**2))  # (1 - λ)² ‖form‖² over 1 - λ
        self._xi = None
        if lam > 0.0 and U.shape[0] > U.shape[1]:
            MU = self.rows.transposed_dot(weighted)
            out = (MU - U @ (U.T @ MU)) @ (R @ R.T)  # (I - UUᵀ) M U RRᵀ of Eq. (21)
            out -= U @ (U.T @ out)  # twice is enough: Uᵀξ = 0 is what the factor T rests on
            self._xi = -2.0 * lam * out
            self._D = self.rows.dot(self._xi)
            self._gram = self._xi.T @ self._xi
            slope += 4.0 * lam * float(np.sum(out**2))  # 4λ² ‖·‖² over λ
        self.max_step = self._largest_step()
        return slope

    def _largest_step(self) -> float:
        top = float(self._omega[-1])
        if self._first_order:
            # Else 1 - sω is negative and W no longer positive
            return 0.99 / top if top > 0.0 else np.inf
        size = max(top, -float(self._omega[0]))
        return 2.0 * _LARGEST_EXPONENT / size if size > 0.0 else np.inf

    def _root_at(self, step: float) -> Floats:
        if self._first_order:  # Eq. (14), with its sign corrected: W - sWMW
            stretch = np.sqrt(np.maximum(1.0 - step * self._omega, 0.0))
        else:
            # exp(-½ (1 - λ) s form): Eqs. (19) and (21)
            stretch = np.exp(-0.5 * step * self._omega)
        return self.R @ ((self._V * stretch) @ self._V.T)

    def predictions_at(self, step: float) -> Floats:
        """Return aᵀWa of every row after a step, without a pass over the data."""
        root = self._root_at(step)
        if self._xi is None:
            return _row_squares(self._Q @ root)
        r = root.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            gram = np.eye(r) + step * (step * self._gram)
            if not np.isfinite(gram).all():
                return np.full(self._Q.shape[0], np.inf)
            T = cholesky(gram)  # of qf(U + sξ): Uᵀξ = 0
            return _row_squares((self._Q + step * self._D) @ solve_triangular(T, root))

    def move(self, step: float) -> float:
        """Take the step; return the relative change of the factor after Procrustes alignment."""
        root, before = self._root_at(step), self.R
        across = np.eye(len(root))
        if self._xi is not None:
            moved, T = orthonormal_factor(self.U + step * self._xi)  # Eq. (18)
            across = self.U.T @ moved
            self.U = moved
            self._Q = solve_triangular(T, (self._Q + step * self._D).T, trans="T").T
        self.R = root
        self._moves += 1
        if self._xi is not None and self._moves % _REFRESH == 0:
            self._Q = self.rows.dot(self.U)
        sizes = float(np.sum(before**2)), float(np.sum(root**2))
        # Section 7.5's ‖G_t+1 - G_t‖, after the best rotation
        aligned = np.linalg.svd(before.T @ across @ root, compute_uv=False).sum()
        gap = max(sizes[0] + sizes[1] - 2.0 * float(aligned), 0.0)
        return float(np.sqrt(gap / max(sizes[0], 1e-300)))

    def factor(self) -> Floats:
        """Return UR."""
        return self.U @ self.R


class LogWalk:
    """Descent on the logarithm S of a positive definite W.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    G : ndarray of shape (d, d)
        Where to start, not singular.
    mirror : bool, default=True
        Move along -M, which is the step of the von Neumann divergence and of Section 5.3 (mirror
        descent; the paper calls M the gradient of f(exp S), which it is not); otherwise along
        minus the gradient itself.
    """

    def __init__(self, rows: Any, G: Floats, mirror: bool = True) -> None:
        self._A, self._mirror = rows.dot(np.eye(rows.shape[1])), mirror
        vectors, values, _ = np.linalg.svd(G)
        self._take(2.0 * np.log(values), vectors)
        self.max_step = np.inf

    def _take(self, logs: Floats, vectors: Floats) -> None:
        self._logs, self._V = logs, vectors

    def _at(self, logs: Floats, vectors: Floats) -> Floats:
        return _row_squares(self._A @ (vectors * np.exp(0.5 * logs)))

    def predictions(self) -> Floats:
        """Return aᵀWa of every row, here."""
        return self._at(self._logs, self._V)

    def aim(self, weights: Floats) -> float:
        """Take the direction; return minus the slope of the cost along it."""
        logs, V = self._logs, self._V
        M = V.T @ ((self._A.T * weights) @ self._A) @ V
        # The Fréchet derivative, which Section 5.3's gradient lacks
        derivative = divided_exponentials(logs) * M  # D exp(S)[M] in the basis of S
        # Mirror: Section 5.3's update, which is no gradient of its cost
        direction = M if self._mirror else derivative
        self._direction = -V @ direction @ V.T
        size = float(np.linalg.norm(direction, 2))
        self.max_step = 2.0 * _LARGEST_EXPONENT / size if size > 0.0 else np.inf
        return float(np.sum(derivative * direction))

    def _eigen_at(self, step: float) -> tuple[Floats, Floats]:
        S = (self._V * self._logs) @ self._V.T + step * self._direction
        logs, vectors = np.linalg.eigh(0.5 * (S + S.T))
        return logs, vectors

    def predictions_at(self, step: float) -> Floats:
        """Return aᵀWa of every row after a step."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._at(*self._eigen_at(step))

    def move(self, step: float) -> float:
        """Take the step; return the relative change of the symmetric root of W."""
        before = self._root()
        self._take(*self._eigen_at(step))
        size = max(float(np.linalg.norm(before)), 1e-300)
        return float(np.linalg.norm(self._root() - before)) / size

    def _root(self) -> Floats:
        return (self._V * np.exp(0.5 * self._logs)) @ self._V.T

    def factor(self) -> Floats:
        """Return the symmetric square root of W."""
        return self._root()


def divided_exponentials(logs: Floats) -> Floats:
    """Return (e^a - e^b)/(a - b) for all pairs, e^a where they are equal."""
    a, b = logs[:, None], logs[None, :]
    half = 0.5 * (a - b)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.abs(half) < 1e-5, 1.0 + half**2 / 6.0, np.sinh(half) / half)
    return np.exp(0.5 * (a + b)) * ratio
