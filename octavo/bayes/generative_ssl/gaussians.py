"""One Gaussian a class, axis-aligned or full, as a function of a flat vector of parameters.

A model brings log p(x, y), the weighted sums that its gradient and its weighted maximum need, and
both of them. Data are scaled to [-1, 1] on each axis before they come here, so that floors and
penalties mean the same on every axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from octavo.engine.estimators.arrays import Floats, Indices

LOG_2PI = float(np.log(2.0 * np.pi))
WIDEST = 1e3  # standard deviations and means in units of half a range
STEEPEST = 40.0  # logits
_CHUNK = 1 << 20  # numbers a chunk


class Sums(NamedTuple):
    """Weighted sums over rows: ΣW, ΣWx, and ΣWx² or ΣWxxᵀ."""

    mass: Floats
    first: Floats
    second: Floats

    def plus(self, other: Sums, times: float) -> Sums:
        """Return these sums with a multiple of others added."""
        return Sums(*(a + times * b for a, b in zip(self, other, strict=True)))


def row_chunks(X: Any) -> Iterator[slice]:
    """Yield slices of rows that keep temporaries in cache-sized pieces."""
    size = max(1, _CHUNK // max(1, X.shape[1]))
    for begin in range(0, X.shape[0], size):
        yield slice(begin, min(begin + size, X.shape[0]))


def log_softmax(logits: Floats) -> Floats:
    """Return log probabilities over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def logit_gradient(mass: Floats, logits: Floats) -> Floats:
    """Return the gradient of Σ mass · log softmax(logits)."""
    # ∂ log softmax_j / ∂ logit_k = [j = k] - softmax_k
    return mass - mass.sum(axis=-1, keepdims=True) * np.exp(log_softmax(logits))


def diagonal_log_density(X: Floats, means: Floats, log_vars: Floats) -> Floats:
    """Return log densities (n, J) of axis-aligned Gaussians by two matrix products."""
    precision = np.exp(-log_vars)
    offset = -0.5 * (
        (means**2 * precision).sum(axis=1) + log_vars.sum(axis=1) + means.shape[1] * LOG_2PI
    )
    quadratic, linear = (-0.5 * precision).T, (means * precision).T
    out = np.empty((len(X), len(means)))
    for rows in row_chunks(X):
        # -½ Σ (x - μ)² / σ², multiplied out: data are scaled to [-1, 1]
        np.matmul(X[rows] ** 2, quadratic, out=out[rows])
        out[rows] += X[rows] @ linear
    out += offset
    return out


def diagonal_sums(X: Floats, W: Floats) -> Sums:
    """Return weighted sums of rows and of their squares."""
    second = np.zeros((W.shape[1], X.shape[1]))
    for rows in row_chunks(X):
        second += W[rows].T @ X[rows] ** 2
    return Sums(W.sum(axis=0), W.T @ X, second)


def diagonal_gradient(sums: Sums, means: Floats, log_vars: Floats) -> tuple[Floats, Floats]:
    """Return the gradients of Σ W log N(x | μ, σ²) in the means and the log variances."""
    precision = np.exp(-log_vars)
    mass = sums.mass[:, None]
    spread = sums.second - 2.0 * means * sums.first + mass * means**2  # Σ W (x - μ)²
    # in log σ², so that no step leaves the positive variances
    return precision * (sums.first - mass * means), 0.5 * (spread * precision - mass)


def diagonal_maximum(sums: Sums, floor: float, penalty: float) -> tuple[Floats, Floats]:
    """Return the means and log variances of largest Σ W log N(x | μ, σ²) - penalty·‖μ‖²."""
    mass = np.maximum(sums.mass, 1e-300)[:, None]
    means = sums.first / mass
    for _ in range(3):  # the penalty moves means by about 1e-5, and variances by its square
        variances = sums.second / mass - 2.0 * means * sums.first / mass + means**2
        variances = np.clip(variances, floor**2, WIDEST**2)
        if penalty == 0.0:
            break
        means = sums.first / (mass + 2.0 * penalty * variances)  # ∂/∂μ: mass (x̄ - μ) / σ² = 2 C μ
    return np.clip(means, -WIDEST, WIDEST), np.log(variances)


class ClassModel:
    """What the models share: the classes' log probabilities stand first among the parameters."""

    hidden = False  # whether a class is a mixture, so that its fit has no closed form

    def __init__(self, n_classes: int, n_features: int, log_prior: Floats | None) -> None:
        self.n_classes, self.n_features, self.log_prior = n_classes, n_features, log_prior

    def class_log_prior(self, theta: Floats) -> Floats:
        """Return log p(y)."""
        return self.log_prior if self.log_prior is not None else log_softmax(self._logits(theta))

    def _logits(self, theta: Floats) -> Floats:
        return theta[: self.n_classes]

    def _prior_logits(self, mass: Floats) -> Floats:
        if self.log_prior is not None:
            return self.log_prior
        return np.log(np.maximum(mass, 1e-12) / np.maximum(mass, 1e-12).sum())

    def _prior_gradient(self, mass: Floats, theta: Floats) -> Floats:
        if self.log_prior is not None:
            return np.zeros(self.n_classes)
        return logit_gradient(mass, self._logits(theta))

    def start(self, X: Any, W: Floats, rng: np.random.RandomState) -> Floats:
        """Return parameters from rows that belong to classes by weights W."""
        return self.maximum(self.sums(None, X, W))

    def opened(self, theta: Floats) -> Floats:
        """Return parameters from which a search can leave every bound."""
        return theta

    def sums(self, theta: Floats | None, X: Any, W: Floats) -> Any:
        """Return the weighted sums of rows."""
        raise NotImplementedError

    def maximum(self, sums: Any) -> Floats:
        """Return the parameters of largest weighted likelihood."""
        raise NotImplementedError


class DiagonalGaussians(ClassModel):
    """One axis-aligned Gaussian a class: the paper's model."""

    def __init__(self, n_classes, n_features, log_prior=None, floor=2e-3, penalty=0.0):
        super().__init__(n_classes, n_features, log_prior)
        self.floor, self.mean_penalty = floor, penalty

    def unpack(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return means and log variances."""
        rest = theta[self.n_classes :].reshape(2, self.n_classes, self.n_features)
        return rest[0], rest[1]

    def log_joint(self, theta: Floats, X: Floats) -> Floats:
        """Return log p(x, y)."""
        q = diagonal_log_density(X, *self.unpack(theta))
        q += self.class_log_prior(theta)
        return q

    def sums(self, theta: Floats | None, X: Floats, W: Floats) -> Sums:
        """Return the weighted sums of rows and squares."""
        return diagonal_sums(X, W)

    def gradient(self, theta: Floats, sums: Sums) -> Floats:
        """Return Σ W ∂q."""
        parts = diagonal_gradient(sums, *self.unpack(theta))
        return np.concatenate(
            [self._prior_gradient(sums.mass, theta), parts[0].ravel(), parts[1].ravel()]
        )

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return C‖μ‖² and its gradient."""
        means = self.unpack(theta)[0]
        slope = np.zeros_like(theta)
        slope[self.n_classes : self.n_classes + means.size] = (
            2.0 * self.mean_penalty * means.ravel()
        )
        return self.mean_penalty * float((means**2).sum()), slope

    def maximum(self, sums: Sums) -> Floats:
        """Return the parameters of largest weighted likelihood above the floor."""
        means, log_vars = diagonal_maximum(sums, self.floor, self.mean_penalty)
        return np.concatenate([self._prior_logits(sums.mass), means.ravel(), log_vars.ravel()])

    def expected(self, theta: Floats) -> Sums:
        """Return the sums that one row drawn from the model gives on average."""
        means, log_vars = self.unpack(theta)
        share = np.exp(self.class_log_prior(theta))[:, None]
        return Sums(share[:, 0], share * means, share * (means**2 + np.exp(log_vars)))

    def bounds(self) -> list[tuple[float, float]]:
        """Return the box that is searched."""
        size = self.n_classes * self.n_features
        ends = (2.0 * float(np.log(self.floor)), 2.0 * float(np.log(WIDEST)))
        head = [(-STEEPEST, STEEPEST)] * self.n_classes
        return head + [(-WIDEST, WIDEST)] * size + [ends] * size

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Floats:
        """Draw a row for each class given."""
        means, log_vars = self.unpack(theta)
        noise = rng.standard_normal((len(classes), self.n_features))
        return means[classes] + np.exp(0.5 * log_vars[classes]) * noise


class FullGaussians(ClassModel):
    """One Gaussian a class with a full covariance, of its own or shared by all.

    Covariances are LLᵀ + floor²·I with L lower triangular: exactly those whose variance is at
    least floor² in every direction.
    """

    def __init__(
        self, n_classes, n_features, log_prior=None, floor=2e-3, penalty=0.0, *, shared=False
    ):
        super().__init__(n_classes, n_features, log_prior)
        self.floor, self.mean_penalty, self.shared = floor, penalty, shared
        self.n_spreads = 1 if shared else n_classes
        self._lower = np.tril_indices(n_features)

    def unpack(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return means and the triangles L."""
        K, d = self.n_classes, self.n_features
        triangles = np.zeros((self.n_spreads, d, d))
        flat = theta[K + K * d :].reshape(self.n_spreads, -1)
        triangles[:, self._lower[0], self._lower[1]] = flat
        return theta[K : K + K * d].reshape(K, d), triangles

    def covariances(self, theta: Floats) -> Floats:
        """Return the covariances (n_spreads, d, d)."""
        L = self.unpack(theta)[1]
        # LLᵀ + floor²: a variance cannot fall to zero, where both p(x) of Eq. (20) are unbounded
        return L @ L.transpose(0, 2, 1) + self.floor**2 * np.eye(self.n_features)

    def _pack(self, logits: Floats, means: Floats, covariances: Floats, least: float) -> Floats:
        """Return parameters for covariances, whose variances beyond floor² are at least this."""
        rows = []
        for covariance in covariances:
            values, vectors = np.linalg.eigh(covariance)
            values = np.clip(values - self.floor**2, least, WIDEST**2)
            # A triangle with the same LLᵀ as the square root; signs so that its diagonal is >= 0.
            L = np.linalg.qr((vectors * np.sqrt(values)).T)[1].T
            L *= np.where(np.diag(L) < 0, -1.0, 1.0)
            rows.append(L[self._lower])
        return np.concatenate([logits, means.ravel(), *rows])

    def log_joint(self, theta: Floats, X: Floats) -> Floats:
        """Return log p(x, y)."""
        means = self.unpack(theta)[0]
        out = np.empty((len(X), self.n_classes))
        for s, covariance in enumerate(self.covariances(theta)):
            factor = np.linalg.cholesky(covariance)
            whiten = solve_triangular(factor, np.eye(self.n_features), lower=True).T
            constant = -np.log(np.diag(factor)).sum() - 0.5 * self.n_features * LOG_2PI
            columns = range(self.n_classes) if self.shared else (s,)
            for rows in row_chunks(X):
                z = X[rows] @ whiten
                for k in columns:
                    off = z - means[k] @ whiten  # (x - μ)' Σ⁻¹ (x - μ) as a squared length
                    out[rows, k] = constant - 0.5 * np.einsum("ij,ij->i", off, off)
        out += self.class_log_prior(theta)
        return out

    def sums(self, theta: Floats | None, X: Floats, W: Floats) -> Sums:
        """Return the weighted sums of rows and of their outer products."""
        weights = W.sum(axis=1, keepdims=True) if self.shared else W
        second = np.zeros((self.n_spreads, self.n_features, self.n_features))
        for rows in row_chunks(X):
            for s in range(self.n_spreads):
                second[s] += (X[rows] * weights[rows, s, None]).T @ X[rows]
        return Sums(W.sum(axis=0), W.T @ X, second)

    def _scatter(self, sums: Sums, means: Floats) -> tuple[Floats, Floats]:
        """Return ΣW (x-μ)(x-μ)ᵀ and the masses, one for each covariance."""
        cross = means[:, :, None] * sums.first[:, None, :]
        shift = sums.mass[:, None, None] * means[:, :, None] * means[:, None, :]
        change = shift - cross - cross.transpose(0, 2, 1)
        if self.shared:
            return sums.second + change.sum(axis=0), sums.mass.sum(keepdims=True)
        return sums.second + change, sums.mass

    def gradient(self, theta: Floats, sums: Sums) -> Floats:
        """Return Σ W ∂q."""
        means, L = self.unpack(theta)
        precision = np.linalg.inv(self.covariances(theta))
        scatter, mass = self._scatter(sums, means)
        off = sums.first - sums.mass[:, None] * means
        on_means = np.einsum("kij,kj->ki", np.broadcast_to(precision, (len(off), *L[0].shape)), off)
        # ½ (P S P - mass P), P the precision
        on_cov = 0.5 * (precision @ scatter @ precision - mass[:, None, None] * precision)
        on_L = 2.0 * on_cov @ L  # the chain rule through LLᵀ
        flat = on_L[:, self._lower[0], self._lower[1]]
        return np.concatenate(
            [self._prior_gradient(sums.mass, theta), on_means.ravel(), flat.ravel()]
        )

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return C‖μ‖² and its gradient."""
        size = self.n_classes * self.n_features
        means = theta[self.n_classes : self.n_classes + size]
        slope = np.zeros_like(theta)
        slope[self.n_classes : self.n_classes + size] = 2.0 * self.mean_penalty * means
        return self.mean_penalty * float(means @ means), slope

    def maximum(self, sums: Sums) -> Floats:
        """Return the parameters of largest weighted likelihood above the floor."""
        mass = np.maximum(sums.mass, 1e-300)
        means, eye = sums.first / mass[:, None], np.eye(self.n_features)
        for _ in range(3):
            scatter, total = self._scatter(sums, means)
            spread = scatter / np.maximum(total, 1e-300)[:, None, None]
            if self.mean_penalty == 0.0:  # without a penalty the mean of x is the mean already
                break
            # mass Σ⁻¹ (x̄ - μ) = 2 C μ
            left = mass[:, None, None] * eye + 2.0 * self.mean_penalty * spread
            means = np.linalg.solve(left, sums.first[:, :, None])[:, :, 0]
        means = np.clip(means, -WIDEST, WIDEST)
        return self._pack(self._prior_logits(sums.mass), means, spread, 0.0)

    def opened(self, theta: Floats) -> Floats:
        """Return parameters off the floor, where the gradient in L would vanish."""
        means = self.unpack(theta)[0]
        spreads = self.covariances(theta)
        if np.linalg.eigvalsh(spreads).min() > 2.0 * self.floor**2:
            return theta
        return self._pack(theta[: self.n_classes], means, spreads, self.floor**2)

    def expected(self, theta: Floats) -> Sums:
        """Return the sums that one row drawn from the model gives on average."""
        means, spreads = self.unpack(theta)[0], self.covariances(theta)
        share = np.exp(self.class_log_prior(theta))
        outer = means[:, :, None] * means[:, None, :] + spreads
        second = share[:, None, None] * outer
        if self.shared:
            second = second.sum(axis=0, keepdims=True)
        return Sums(share, share[:, None] * means, second)

    def bounds(self) -> list[tuple[float, float]]:
        """Return the box that is searched."""
        size = self.n_classes * self.n_features + self.n_spreads * len(self._lower[0])
        return [(-STEEPEST, STEEPEST)] * self.n_classes + [(-WIDEST, WIDEST)] * size

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Floats:
        """Draw a row for each class given."""
        factors = np.linalg.cholesky(self.covariances(theta))
        noise = rng.standard_normal((len(classes), self.n_features))
        which = np.zeros(len(classes), dtype=np.intp) if self.shared else classes
        return self.unpack(theta)[0][classes] + np.einsum("nij,nj->ni", factors[which], noise)
