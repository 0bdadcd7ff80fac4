"""Gradient, Hessian and gradient covariance of a linear model's mean loss, at its weights.

One vector of weights has the Hessian Xᵀ diag(ℓ'') X / n. Softmax over K classes has a block per
pair of classes and does not change when one vector is added to all of them, so that everything is
taken in K - 1 orthonormal contrasts of the classes; SGD from 0 never leaves them. Classes against
the rest are problems of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import null_space
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from scipy.special import softmax

from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.losses import SmoothLoss
from octavo.engine.smooth.newton import DENSE_LIMIT, linear_hessian


@dataclass(frozen=True)
class LinearProblem:
    """Rows (with a last column of ones for an intercept), weights a row a vector, and targets.

    ``targets`` is None where nobody knows them: ±1 or real numbers for one vector, else numbers
    of classes. ``penalty`` is the L2 penalty of each coordinate of a vector.
    """

    X: Any
    weights: Floats
    loss: SmoothLoss
    softmax: bool
    targets: Any
    penalty: Floats

    def parts(self) -> list[LinearProblem]:
        """Return problems that share no weights: one, or one a class against the rest."""
        if self.softmax or len(self.weights) == 1:
            return [self]
        return [
            LinearProblem(
                self.X,
                self.weights[c : c + 1],
                self.loss,
                False,
                None if self.targets is None else np.where(self.targets == c, 1.0, -1.0),
                self.penalty,
            )
            for c in range(len(self.weights))
        ]

    @property
    def size(self) -> int:
        """Numbers that can be chosen freely."""
        return max(1, len(self.weights) - 1) * self.X.shape[1]

    def contrasts(self) -> Floats:
        """Return orthonormal combinations of the classes that softmax can tell apart."""
        if not self.softmax:
            return np.ones((1, 1))
        return null_space(np.ones((1, len(self.weights))))

    def scores(self) -> Floats:
        """Return X times the weights, a column a vector."""
        return np.asarray(self.X @ self.weights.T)

    def slopes(self) -> Floats:
        """Return the derivatives of each row's loss by its scores."""
        scores = self.scores()
        if self.softmax:
            slopes = softmax(scores, axis=1)  # p - e_y
            slopes[np.arange(len(slopes)), self.targets] -= 1.0
            return slopes
        p, y = np.ascontiguousarray(scores[:, 0]), np.asarray(self.targets, dtype=np.float64)
        return self.loss.evaluate(p, y, order=1)[1][:, None]

    def curvatures(self) -> Floats:
        """Return second derivatives of each row's loss; the probabilities for softmax."""
        scores = self.scores()
        if self.softmax:
            return softmax(scores, axis=1)
        p = np.ascontiguousarray(scores[:, 0])
        # of log and sqrt the second derivative does not depend on the label
        y = np.ones(len(p)) if self.targets is None else np.asarray(self.targets, np.float64)
        return self.loss.evaluate(p, y)[2][:, None]

    def gradient(self) -> Floats:
        """Return the gradient in contrasts of the classes, flat."""
        whole = np.asarray(self.X.T @ self.slopes()).T / self.X.shape[0]
        whole = whole + self.penalty * self.weights
        return (self.contrasts().T @ whole).reshape(-1)

    def hessian(self) -> Floats:
        """Return the Hessian in contrasts of the classes."""
        W, Q = self.curvatures(), self.contrasts()
        if not self.softmax:
            return _whole(self.X, W[:, 0]) + np.diag(self.penalty)
        # diag(p) - p pᵀ, row by row
        pairs = np.einsum("nk,kl->nkl", W, np.eye(W.shape[1])) - W[:, :, None] * W[:, None, :]
        return self._in_contrasts(pairs, Q) + np.kron(np.eye(Q.shape[1]), np.diag(self.penalty))

    def gradient_covariance(self) -> Floats:
        """Return the mean of g gᵀ over the rows' gradients g, in contrasts of the classes."""
        S = self.slopes()
        if not self.softmax:
            return _whole(self.X, S[:, 0] ** 2)  # E g gᵀ
        return self._in_contrasts(S[:, :, None] * S[:, None, :], self.contrasts())

    def _in_contrasts(self, pairs: Floats, Q: Floats) -> Floats:
        pairs = np.einsum("ka,nkl,lb->nab", Q, pairs, Q, optimize=True)
        blocks = [
            [_weighted(self.X, np.ascontiguousarray(pairs[:, a, b])) for b in range(Q.shape[1])]
            for a in range(Q.shape[1])
        ]
        return np.block(blocks)

    def _product(self, W: Floats, Q: Floats, flat: Floats) -> Floats:
        """Return the Hessian times a vector, from curvatures and contrasts, without the Hessian."""
        V = flat.reshape(Q.shape[1], -1)
        moved = np.asarray(self.X @ (Q @ V).T)
        if self.softmax:
            # (diag(p) - p pᵀ) v without the matrix
            moved = moved - (W * moved).sum(axis=1, keepdims=True)
        image = np.asarray(self.X.T @ (W * moved)).T / self.X.shape[0]
        return (Q.T @ image + self.penalty * V).reshape(-1)

    def lowest_eigenvalue(self) -> float:
        """Return the lowest eigenvalue of the Hessian, by Lanczos beyond `DENSE_LIMIT` numbers.

        Lanczos may end above an eigenvalue that it has not seen; its residual is taken off, and
        0 is returned where it does not converge.
        """
        if self.size <= DENSE_LIMIT:
            return max(0.0, float(np.linalg.eigvalsh(self.hessian())[0]))
        product = partial(self._product, self.curvatures(), self.contrasts())
        operator = LinearOperator((self.size, self.size), matvec=product, dtype=np.float64)
        start = np.cos(np.arange(self.size))  # the same at every call
        try:
            values, vectors = eigsh(operator, k=1, which="SA", v0=start, tol=1e-6)
        except ArpackError:
            return 0.0
        residual = np.linalg.norm(product(vectors[:, 0]) - values[0] * vectors[:, 0])
        return max(0.0, float(values[0] - residual))


def with_ones(X: Any, intercept: bool) -> Any:
    """Return rows with a last column of ones where the model has an intercept."""
    if not intercept:
        return X
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _whole(X: Any, weight: Floats) -> Floats:
    """Return Xᵀ diag(weight) X / n for weights that are not negative."""
    H = linear_hessian(X, weight, 0.0)
    return np.tril(H) + np.tril(H, -1).T


def _weighted(X: Any, weight: Floats) -> Floats:
    scaled = X.multiply(weight[:, None]) if sp.issparse(X) else weight[:, None] * X
    product = X.T @ scaled
    return np.asarray(product.todense() if sp.issparse(product) else product) / X.shape[0]
