"""Σ(λ) = σ²I + Σ_i λ_i K_i and what the marginal likelihood of y ~ N(0, Σ) needs of it.

With W = Σ⁻¹ and a = Wy these are log det Σ and yᵀWy; for the gradient tr(W K_i) and aᵀK_i a; for
the curvature tr(W K_i W K_j) and aᵀK_i W K_j a. Three forms give the same numbers:
`GramEvidence` needs GᵀG and Gᵀy alone (K_i = G_i G_iᵀ), `WideEvidence` is for more columns than
rows, and `KernelEvidence` for matrices K_i of any origin. Groups with λ_i = 0 cost next to nothing.

Reference: Aravkin, Burke, Chiuso and Pillonetto (2014), "Convex vs non-convex estimators for
regression and sparse estimation", JMLR 15, Equations (2) to (8).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dtrtrs

from octavo.engine.estimators.arrays import Floats, Indices


class Factored(NamedTuple):
    """A factorisation at one λ and σ²; `columns` and `root` are those of the groups in use."""

    lam: Floats
    sigma2: float
    half_logdet: float
    fit: float  # yᵀWy
    factor: Floats  # lower Cholesky factor
    z: Floats  # factor⁻¹ times the right side
    columns: Indices
    root: Floats


class Slopes(NamedTuple):
    """tr(W K_i) and aᵀK_i a of every group, and what the curvature reuses."""

    traces: Floats
    energies: Floats
    parts: tuple[Floats, ...]


class Evidence(Protocol):
    """One form of the model: n observations, `n_groups` matrices K_i, and y."""

    n: int
    n_groups: int
    energy: float  # yᵀy
    sizes: Floats  # tr K_i

    def factored(self, lam: Floats, sigma2: float) -> Factored:
        """Factor Σ at one λ and σ²."""

    def slopes(self, state: Factored) -> Slopes:
        """Return the first derivatives' parts of all groups."""

    def curvature(self, state: Factored, slopes: Slopes, which: Indices) -> tuple[Floats, Floats]:
        """Return tr(W K_i W K_j) and aᵀK_i W K_j a among some groups."""


def _lower(matrix: Floats) -> Floats:
    """Return the lower Cholesky factor of a symmetric matrix, which is overwritten.

    LAPACK is called itself: for small problems scipy's checks take longer than the algebra.
    """
    if matrix.shape[0] == 0:
        return matrix
    factor, info = dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)
    if info:
        raise LinAlgError(f"Pivot {info} of a covariance matrix is not positive.")
    return factor


def _solve(factor: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    if factor.shape[0] == 0 or right.size == 0:
        return np.zeros(right.shape)
    return dtrtrs(factor, right, lower=1, trans=int(transposed))[0]


class _Columns:
    """Columns sorted by group: sums over groups are sums over neighbours."""

    def __init__(self, groups: list[Indices]) -> None:
        self.order = np.concatenate(groups)
        self.widths = np.array([len(group) for group in groups])
        self.starts = np.concatenate([[0], np.cumsum(self.widths)])
        self.codes = np.repeat(np.arange(len(groups)), self.widths)

    def of(self, which: Indices) -> Indices:
        """Return the (sorted) columns of some groups."""
        mask = np.zeros(len(self.widths), dtype=bool)
        mask[which] = True
        return np.flatnonzero(mask[self.codes])

    def sums(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts[:-1])

    def block_sums(self, matrix: Floats, which: Indices) -> Floats:
        """Return the sums of the blocks of a matrix over the columns of some groups."""
        widths = self.widths[which]
        if (widths == 1).all():
            return matrix
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        return np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)

    def curvature(self, M: Floats, r: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return ‖M_ij‖² and r_iᵀM_ij r_j by groups; M and r are of the groups' columns."""
        return self.block_sums(M * M, which), self.block_sums(M * r * r[:, None], which)


class GramEvidence:
    """The linear model through GᵀG, Gᵀy and yᵀy: nothing depends on the number of rows.

    With B = σ²I + Λ^½ GᵀG Λ^½ of the columns in use, log det Σ = (n - |B|) log σ² + log det B and
    GᵀWG = (σ²I + GᵀGΛ)⁻¹ GᵀG, which loses no digits where λ is large.
    """

    def __init__(
        self, gram: Floats, moments: Floats, energy: float, n: int, groups: list[Indices]
    ) -> None:
        self.columns = _Columns(groups)
        order = self.columns.order
        sorted_already = bool((order[1:] > order[:-1]).all())
        self.gram = gram if sorted_already else gram[np.ix_(order, order)]
        self.moments = moments[order]
        self.energy, self.n, self.n_groups = energy, n, len(groups)
        self.sizes = self.columns.sums(self.gram.diagonal())

    def factored(self, lam: Floats, sigma2: float) -> Factored:
        """Factor B at one λ and σ²."""
        variances = lam[self.columns.codes]
        used = np.flatnonzero(variances > 0.0)
        root = np.sqrt(variances[used])
        B = self.gram[np.ix_(used, used)] if len(used) < len(variances) else self.gram.copy()
        B *= root
        B *= root[:, None]
        B.flat[:: len(used) + 1] += sigma2  # B = σ²I + R GᵀG R
        factor = _lower(B)
        z = _solve(factor, root * self.moments[used])
        # det Σ = σ^(2(n − m)) det B
        half_logdet = float(np.log(factor.diagonal()).sum()) + 0.5 * (self.n - len(used)) * np.log(
            sigma2
        )
        fit = max((self.energy - float(z @ z)) / sigma2, 0.0)  # yᵀWy by Woodbury's identity
        return Factored(lam, sigma2, half_logdet, fit, factor, z, used, root)

    def slopes(self, state: Factored) -> Slopes:
        """Return tr(G_iᵀWG_i) and ‖G_iᵀWy‖²."""
        used, root = state.columns, state.root
        U = _solve(state.factor, root[:, None] * self.gram[used])
        own = _solve(state.factor, U[:, used], transposed=True) / root[:, None]  # GᵀWG in use
        r = (self.moments - U.T @ state.z) / state.sigma2
        r[used] = _solve(state.factor, state.z, transposed=True) / root
        diagonal = (self.gram.diagonal() - np.einsum("ij,ij->j", U, U)) / state.sigma2
        diagonal[used] = own.diagonal()
        diagonal = np.maximum(diagonal, 0.0)
        return Slopes(self.columns.sums(diagonal), self.columns.sums(r * r), (U, own, r))

    def curvature(self, state: Factored, slopes: Slopes, which: Indices) -> tuple[Floats, Floats]:
        """Return ‖G_iᵀWG_j‖² and the products of r = GᵀWy with G_iᵀWG_j."""
        U, own, r = slopes.parts
        columns = self.columns.of(which)
        if np.array_equal(columns, state.columns):
            M = own
        else:
            # Columns of groups in use come from `own`; the others enter, at λ = 0.
            M = (self.gram[np.ix_(columns, columns)] - U[:, columns].T @ U[:, columns]) / (
                state.sigma2
            )
            inside = np.flatnonzero(np.isin(columns, state.columns))
            among = np.searchsorted(state.columns, columns[inside])
            M[np.ix_(inside, inside)] = own[np.ix_(among, among)]
        return self.columns.curvature(M, r[columns], which)


class WideEvidence:
    """The linear model with more columns than rows: Σ itself is factored."""

    def __init__(self, G: Floats, y: Floats, groups: list[Indices]) -> None:
        self.columns = _Columns(groups)
        self.G, self.y = G[:, self.columns.order], y
        self.n, self.n_groups = len(y), len(groups)
        self.energy = float(y @ y)
        self.sizes = self.columns.sums(np.einsum("ij,ij->j", self.G, self.G))

    def factored(self, lam: Floats, sigma2: float) -> Factored:
        """Factor Σ at one λ and σ²."""
        variances = lam[self.columns.codes]
        used = np.flatnonzero(variances > 0.0)
        root = np.sqrt(variances[used])
        scaled = self.G[:, used] * root
        Sigma = scaled @ scaled.T  # Eq. (2)
        Sigma.flat[:: self.n + 1] += sigma2
        factor = _lower(Sigma)
        z = _solve(factor, self.y)
        half_logdet = float(np.log(factor.diagonal()).sum())
        return Factored(lam, sigma2, half_logdet, float(z @ z), factor, z, used, root)

    def slopes(self, state: Factored) -> Slopes:
        """Return tr(G_iᵀWG_i) and ‖G_iᵀWy‖²."""
        U = _solve(state.factor, self.G)
        r = U.T @ state.z
        diagonal = np.einsum("ij,ij->j", U, U)
        return Slopes(self.columns.sums(diagonal), self.columns.sums(r * r), (U, r))

    def curvature(self, state: Factored, slopes: Slopes, which: Indices) -> tuple[Floats, Floats]:
        """Return ‖G_iᵀWG_j‖² and the products of r = GᵀWy with G_iᵀWG_j."""
        U, r = slopes.parts
        columns = self.columns.of(which)
        part = U[:, columns]
        return self.columns.curvature(part.T @ part, r[columns], which)


class KernelEvidence:
    """Matrices K_i of any origin, positive semi-definite."""

    def __init__(self, kernels: Floats, y: Floats) -> None:
        self.kernels, self.y = kernels, y
        self.n, self.n_groups = len(y), len(kernels)
        self.energy = float(y @ y)
        self.sizes = np.trace(kernels, axis1=1, axis2=2)

    def factored(self, lam: Floats, sigma2: float) -> Factored:
        """Factor Σ at one λ and σ²."""
        used = np.flatnonzero(lam > 0.0)
        Sigma = np.tensordot(lam[used], self.kernels[used], axes=1)
        Sigma.flat[:: self.n + 1] += sigma2
        factor = _lower(Sigma)
        z = _solve(factor, self.y)
        half_logdet = float(np.log(factor.diagonal()).sum())
        return Factored(lam, sigma2, half_logdet, float(z @ z), factor, z, used, np.sqrt(lam[used]))

    def slopes(self, state: Factored) -> Slopes:
        """Return tr(W K_i) and aᵀK_i a."""
        inverse = _solve(state.factor, np.eye(self.n))
        W = inverse.T @ inverse
        a = inverse.T @ state.z
        images = self.kernels @ a
        traces = np.einsum("ij,mij->m", W, self.kernels, optimize=True)
        return Slopes(np.maximum(traces, 0.0), np.maximum(images @ a, 0.0), (W, a, images))

    def curvature(self, state: Factored, slopes: Slopes, which: Indices) -> tuple[Floats, Floats]:
        """Return tr(W K_i W K_j) and aᵀK_i W K_j a."""
        W, _, images = slopes.parts
        products = np.array([W @ self.kernels[i] for i in which])
        flat = products.reshape(len(which), -1)
        turned = products.transpose(0, 2, 1).reshape(len(which), -1)
        chosen = images[which]
        return flat @ turned.T, chosen @ W @ chosen.T
