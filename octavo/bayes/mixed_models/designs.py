"""Designs of mixed models: fixed effects beside the random effects of one or several groupings.

A term is a grouping with q columns: an intercept and, where asked for, slopes. `MixedDesign` solves
for the Gaussian of all coefficients. Terms of groupings go through the block-arrow factor: the
blocks are the levels of the largest term, and the border is made of the fixed effects and of all
other terms, crossed or nested. A design matrix Z whose rows meet several columns goes through the
dense factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.sparse_gaussian.arrow_designs import (
    ArrowDesign,
    ArrowSolution,
    arrow_design,
    positive_inverse,
    row_moments,
    solve_arrow,
)

LARGEST_DENSE = 8000  # coefficients of a dense factor: half a gigabyte


class Term(NamedTuple):
    """Rows of one random term: the level of each row, and its entries ``z`` (n, q) there."""

    codes: Ints
    z: Floats
    n_levels: int

    @property
    def n_coefficients(self) -> int:
        """Levels times columns."""
        return self.n_levels * self.z.shape[1]


class Coefficients(NamedTuple):
    """A Gaussian of all coefficients, in the parts that expectations need.

    ``beta`` and its covariance; per term the means (K, q) and the diagonal blocks (K, q, q) of the
    covariance; mean and variance of each row; ``log_det`` of the precision; the raw ``solution``.
    """

    beta: Floats
    beta_cov: Floats
    means: list[Floats]
    covs: list[Floats]
    row_mean: Floats
    row_variance: Floats
    log_det: float
    solution: Any


class DenseSolution(NamedTuple):
    """Mean and covariance of all coefficients, fixed effects first."""

    mean: Floats
    cov: Floats


class MixedDesign:
    """Fixed effects beside random terms.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Fixed effects.
    terms : list of Term
        Random effects; their levels share no coefficient.
    Z : sparse matrix of shape (n, K), optional
        The design of a single term instead, of any form.
    """

    def __init__(self, x: Floats, terms: list[Term], Z: Any = None) -> None:
        self.x, self.terms, self.Z = x, terms, Z
        self.shapes = [(term.n_levels, term.z.shape[1]) for term in terms]
        if Z is not None:
            self.shapes = [(Z.shape[1], 1)]
        self.n_coefficients = x.shape[1] + sum(k * q for k, q in self.shapes)
        sizes = [k * q for k, q in self.shapes]
        border = self.n_coefficients - (max(sizes) if sizes and Z is None else 0)
        if border > LARGEST_DENSE:
            what = "Z and X" if Z is not None else "all groupings but the largest, and X,"
            raise ValueError(
                f"{what} have {border} coefficients; at most {LARGEST_DENSE} are possible."
            )
        # Blocks are the levels of the largest term; the others follow x in the border.
        self.inner = int(np.argmax(sizes)) if sizes and Z is None else -1
        self.outer = [r for r in range(len(terms)) if r != self.inner]
        starts = np.cumsum([0, *(sizes[r] for r in self.outer)])
        self.offsets = dict(zip(self.outer, starts.tolist()))
        self.arrow = self._arrow() if self.inner >= 0 else None
        self.dense = self._dense() if self.arrow is None else None

    def _arrow(self) -> ArrowDesign:
        n, inner = len(self.x), self.terms[self.inner]
        columns, values = [np.zeros((n, 0), dtype=np.int64)], [np.zeros((n, 0))]
        for r in self.outer:
            term = self.terms[r]
            q = term.z.shape[1]
            columns.append(self.offsets[r] + term.codes[:, None] * q + np.arange(q))
            values.append(term.z)
        n_extra = sum(self.terms[r].n_coefficients for r in self.outer)
        return arrow_design(
            inner.codes,
            inner.n_levels,
            self.x,
            inner.z,
            np.concatenate(columns, axis=1),
            np.concatenate(values, axis=1),
            n_extra,
        )

    def _dense(self) -> Floats:
        if self.Z is None:
            return self.x
        part = self.Z.toarray() if sp.issparse(self.Z) else np.asarray(self.Z, dtype=np.float64)
        return np.concatenate([self.x, part], axis=1)

    def solve(
        self, h: Floats, t: Floats, beta_precision: float, precisions: list[Floats]
    ) -> Coefficients | None:
        """Return the Gaussian of precision C' diag(h) C + M and mean (...)^-1 C't.

        Parameters
        ----------
        h, t : ndarray of shape (n,)
            Weights of rows, and what the mean is made of.
        beta_precision : float
            Prior precision of each fixed effect.
        precisions : list of ndarray of shape (q, q)
            Prior precision of a level, term by term.

        Returns
        -------
        coefficients : Coefficients or None
            None where the precision is not positive definite.
        """
        if not (np.isfinite(h).all() and np.isfinite(t).all()):
            return None
        if self.arrow is None:
            return self._solve_dense(h, t, beta_precision, precisions)
        solution = solve_arrow(
            self.arrow, h, t, precisions[self.inner], self._border(beta_precision, precisions)
        )
        if solution is None:
            return None
        mean, variance, blocks = row_moments(self.arrow, solution)
        return self._parts(solution, mean, variance, blocks)

    def _border(self, beta_precision: float, precisions: list[Floats]) -> Floats:
        assert self.arrow is not None
        p = self.x.shape[1]
        prior = np.zeros((self.arrow.n_border, self.arrow.n_border))
        np.fill_diagonal(prior[:p, :p], beta_precision)
        for r in self.outer:
            k, q = self.shapes[r]
            for a in range(q):
                for b in range(q):
                    first = p + self.offsets[r] + q * np.arange(k)
                    # M of Algorithm 1 for a crossed term, level by level
                    prior[first + a, first + b] = precisions[r][a, b]
        return prior

    def _parts(
        self, solution: ArrowSolution, mean: Floats, variance: Floats, blocks: Floats
    ) -> Coefficients:
        p = self.x.shape[1]
        means: list[Floats] = [solution.block_mean] * len(self.terms)
        covs: list[Floats] = [blocks] * len(self.terms)
        for r in self.outer:
            k, q = self.shapes[r]
            at = p + self.offsets[r] + (q * np.arange(k))[:, None] + np.arange(q)
            means[r] = solution.border_mean[at]
            # q x q blocks of the border's covariance, one a level
            covs[r] = solution.border_cov[at[:, :, None], at[:, None, :]]
        return Coefficients(
            solution.border_mean[:p],
            solution.border_cov[:p, :p],
            means,
            covs,
            mean,
            variance,
            solution.log_det,
            solution,
        )

    def _solve_dense(
        self, h: Floats, t: Floats, beta_precision: float, precisions: list[Floats]
    ) -> Coefficients | None:
        assert self.dense is not None
        C, p = self.dense, self.x.shape[1]
        prior = np.full(C.shape[1], beta_precision)
        if precisions:
            prior[p:] = precisions[0][0, 0]
        found = solve_dense(C, h, t, prior)
        if found is None:
            return None
        solution, log_det = found
        mean, cov = solution
        row_mean, row_variance = dense_moments(C, solution)
        means = [mean[p:, None]] if precisions else []
        covs = [np.diagonal(cov)[p:, None, None]] if precisions else []
        return Coefficients(
            mean[:p], cov[:p, :p], means, covs, row_mean, row_variance, log_det, solution
        )

    def moments(self, solution: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of this design's rows under a solution of another's."""
        if self.arrow is None:
            assert self.dense is not None
            return dense_moments(self.dense, solution)
        return row_moments(self.arrow, solution)[:2]

    def matrix(self) -> Any:
        """Return the whole design as a sparse matrix: x, then the terms in their order."""
        parts: list[Any] = [sp.csr_array(self.x)]
        rows = np.arange(len(self.x))
        for term in self.terms:
            q = term.z.shape[1]
            at = term.codes[:, None] * q + np.arange(q)
            shape = (len(rows), term.n_coefficients)
            parts.append(
                sp.csr_array((term.z.ravel(), (np.repeat(rows, q), at.ravel())), shape=shape)
            )
        if self.Z is not None:
            parts.append(sp.csr_array(self.Z))
        return sp.hstack(parts, format="csr")


def solve_dense(
    C: Floats, h: Floats, t: Floats, prior: Floats
) -> tuple[DenseSolution, float] | None:
    """Return the Gaussian of precision P = C' diag(h) C + diag(prior), mean P^-1 C't, and ln|P|."""
    if not (np.isfinite(h).all() and np.isfinite(t).all()):
        return None
    precision = C.T @ (h[:, None] * C)  # Σ⁻¹ of Algorithm 1
    precision[np.diag_indices_from(precision)] += prior
    factor, cov = positive_inverse(precision)
    if factor is None:
        return None
    log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    return DenseSolution(cov @ (C.T @ t), cov), log_det  # Σ Cᵀ{w ∘ (Cμ) + y - w} of Algorithm 1


def dense_moments(C: Floats, solution: DenseSolution) -> tuple[Floats, Floats]:
    """Return C mu and diagonal(C Sigma C'), which Theorem 2(a) writes Q(C) vec(Sigma)."""
    return C @ solution.mean, np.maximum(np.einsum("ij,ij->i", C @ solution.cov, C), 0.0)


def term_of_matrix(Z: Any) -> Term | None:
    """Return Z as levels where every row meets at most one column, else None."""
    rows = sp.csr_array(Z)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    counts = np.diff(rows.indptr)
    if counts.max(initial=0) > 1:
        return None
    codes, z = np.zeros(rows.shape[0], dtype=np.int64), np.zeros((rows.shape[0], 1))
    codes[counts == 1], z[counts == 1, 0] = rows.indices, rows.data
    return Term(codes, z, rows.shape[1])


def row_space(x: Floats) -> Floats | None:
    """Return an orthonormal basis (p, r) of what the rows span; None where it is everything.

    Columns are scaled to unit length before dependence is judged, so that units do not matter.
    """
    norms = np.sqrt(np.einsum("ij,ij->j", x, x))
    scale = np.where(norms > 0, norms, 1.0)
    values, vectors = np.linalg.eigh((x.T @ x) / scale[:, None] / scale)
    null = values < 1e-13 * len(values) * max(values[-1], 1e-300)
    if not null.any():
        return None
    raw = vectors[:, null] / scale[:, None]  # x raw = 0
    whole = np.linalg.qr(raw, mode="complete")[0]
    return whole[:, int(null.sum()) :]
