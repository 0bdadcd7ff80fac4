"""The Cholesky factor of a precision matrix, whatever its shape, behind one interface.

`analyze_precision(Q)` looks at the pattern once and picks the storage: a narrow band (LAPACK), a
band with a few full rows, such as a series with a mean or slopes (LAPACK), a matrix that is dense
or would fill up (LAPACK), or supernodes (`supernodes.py`). The layout that it returns factors any
values on that pattern, `layout.factor(data)`, which is what Newton's method, EP and variational
steps repeat. A factor gives `solve`, `root_solve` (for draws), `log_det` and
`inverse_values`: the inverse on the pattern of the factor, flat; `layout.places(i, j)` says
where entry (i, j) stands in it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import (
    cholesky_banded,
    lapack,
    solve_triangular,
)

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.sparse_gaussian.ordering import fill_reducing_order
from octavo.engine.sparse_gaussian.supernodes import (
    analyze,
    backward_solve,
    factor_panels,
    forward_solve,
    invert_panels,
    locate,
    new_stack,
    panel_entries,
)

BAND_LIMIT = 16  # bandwidth up to which the banded routines win over supernodes
BORDER_LIMIT = 8  # full rows up to which a band with a border does
# Rows up to which a dense factor costs less than looking for zeros; and up to which it takes
# milliseconds, so that nobody waits for kernels to compile.
TINY, DENSE_LIMIT = 64, 400


class NotPositiveDefinite(ValueError):
    """A matrix that was to be a precision is not positive definite; `row` is where it shows."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__(
            "Expected a positive definite matrix, got one whose pivot at row "
            f"{row} is not positive."
        )


class Factor(Protocol):
    """What every factor L Lᵀ of a precision matrix can do."""

    log_det: float

    def solve(self, right: Floats) -> Floats:
        """Return Q⁻¹ times a vector or the columns of a matrix."""

    def root_solve(self, right: Floats) -> Floats:
        """Return x with covariance Q⁻¹ for standard normal `right`: R⁻¹ right with RᵀR = Q."""

    def pivots(self) -> Floats:
        """Return the pivots D of Q = L D Lᵀ (unit L), in the order of the rows of Q."""

    def inverse_values(self) -> Floats:
        """Return the flat inverse on the pattern of the factor."""


class Layout(Protocol):
    """The storage of a pattern, found once."""

    n: int
    n_stored: int

    def factor(self, data: Floats) -> Any:
        """Return the factor of the matrix with these values in the order of the csr pattern."""

    def places(self, row: Ints, column: Ints) -> Ints:
        """Return where entries stand in the flat inverse, -1 outside the pattern."""

    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Return row, column and place of every stored entry, each pair once."""


# --- supernodes -------------------------------------------------------------------------------


class SparseFactor:
    """L Lᵀ = Q[order][:, order] in supernodal panels."""

    def __init__(self, layout: SupernodalLayout, values: Floats) -> None:
        self.layout = layout
        self.values = values
        self.log_det = 2.0 * float(np.log(values[layout.diagonal]).sum())  # log |Q| = 2 Σ log L_ii

    def _permuted(self, right: Floats) -> Floats:
        matrix = np.asarray(right, dtype=np.float64).reshape(self.layout.n, -1)
        return np.ascontiguousarray(matrix[self.layout.pattern.order])

    def _sweeps(self, right: Floats, forward: bool, backward: bool) -> Floats:
        p = self.layout.pattern
        if forward:
            forward_solve(self.values, p.starts, p.row_starts, p.rows, p.panel_starts, right)
        if backward:
            backward_solve(self.values, p.starts, p.row_starts, p.rows, p.panel_starts, right)
        return right

    def solve(self, right: Floats) -> Floats:
        x = self._sweeps(self._permuted(right), True, True)
        return x[self.layout.pattern.where].reshape(np.shape(right))

    def root_solve(self, right: Floats) -> Floats:
        x = np.array(right, dtype=np.float64).reshape(self.layout.n, -1)
        # Lᵀ x = right: of covariance (L Lᵀ)⁻¹
        x = self._sweeps(np.ascontiguousarray(x), False, True)
        return x[self.layout.pattern.where].reshape(np.shape(right))

    def pivots(self) -> Floats:
        return self.values[self.layout.diagonal] ** 2  # D of L D Lᵀ: the squares of L's diagonal

    def inverse_values(self) -> Floats:
        p = self.layout.pattern
        out = np.zeros_like(self.values)
        invert_panels(
            self.values,
            out,
            p.starts,
            p.parents,
            p.row_starts,
            p.inside,
            p.panel_starts,
            p.inverse_starts,
            new_stack(p.stacks[1]),
            p.largest,
        )
        return out

    def lower(self) -> sp.csc_array:
        """Return L as a sparse matrix, in the order of the factor."""
        p = self.layout.pattern
        row, column, place = panel_entries(p.starts, p.row_starts, p.rows, p.panel_starts)
        n = self.layout.n
        return sp.csc_array((self.values[place], (row, column)), shape=(n, n))


class SupernodalLayout:
    """Panels of supernodes for a sparse symmetric pattern."""

    def __init__(self, Q: sp.csr_array, order: Ints | None = None) -> None:
        self.n = Q.shape[0]
        order = fill_reducing_order(Q) if order is None else np.asarray(order, dtype=np.int64)
        self.pattern = analyze(Q, order)
        self.n_stored = int(self.pattern.panel_starts[-1])
        coo = Q.tocoo()
        row, column = coo.row.astype(np.int64), coo.col.astype(np.int64)
        where = self.pattern.where
        self._source = np.flatnonzero(where[row] >= where[column])
        self._target = locate(self.pattern, row[self._source], column[self._source])
        every = np.arange(self.n, dtype=np.int64)
        self.diagonal = locate(self.pattern, every, every)

    def factor(self, data: Floats) -> SparseFactor:
        values = np.zeros(self.n_stored)
        values[self._target] = data[self._source]
        p = self.pattern
        failed = factor_panels(
            values,
            p.starts,
            p.parents,
            p.row_starts,
            p.inside,
            p.panel_starts,
            p.update_starts,
            new_stack(p.stacks[0]),
            p.largest,
        )
        if failed >= 0:
            raise NotPositiveDefinite(int(p.order[failed]))
        return SparseFactor(self, values)

    def places(self, row: Ints, column: Ints) -> Ints:
        return locate(self.pattern, row, column)

    def entries(self) -> tuple[Ints, Ints, Ints]:
        p = self.pattern
        row, column, place = panel_entries(p.starts, p.row_starts, p.rows, p.panel_starts)
        return p.order[row], p.order[column], place


# --- narrow bands -----------------------------------------------------------------------------


@njit(cache=True)
def _banded_inverse(band):
    """Return the inverse inside the band from the lower factor, both in LAPACK's lower form."""
    width = band.shape[0] - 1
    n = band.shape[1]
    out = np.zeros_like(band)
    for i in range(n - 1, -1, -1):
        reach = min(width, n - 1 - i)
        for a in range(reach, 0, -1):  # V_{i+a, i} = -Σ_k V_{i+a, i+k} L_{i+k, i} / L_ii
            value = 0.0
            for k in range(1, reach + 1):
                low, high = min(a, k), max(a, k)
                value -= out[high - low, i + low] * band[k, i]
            out[a, i] = value / band[0, i]
        # V_ii = 1/L_ii² - V_iI L_Ii / L_ii, Appendix A of Cseke and Heskes (2011)
        value = 1.0 / band[0, i]
        for k in range(1, reach + 1):
            value -= out[k, i] * band[k, i]
        out[0, i] = value / band[0, i]
    return out


class BandedFactor:
    """L Lᵀ of a band."""

    def __init__(self, band: Floats) -> None:
        self.band = band
        self.log_det = 2.0 * float(np.log(band[0]).sum())

    def solve(self, right: Floats) -> Floats:
        solution, _ = lapack.dpbtrs(self.band, np.asarray(right, dtype=np.float64), lower=1)
        return np.asarray(solution)

    def root_solve(self, right: Floats) -> Floats:
        matrix = np.asarray(right, dtype=np.float64).reshape(self.band.shape[1], -1)
        solution, _ = lapack.dtbtrs(self.band, matrix, uplo="L", trans="T")
        return np.asarray(solution).reshape(np.shape(right))

    def pivots(self) -> Floats:
        return np.asarray(self.band[0] ** 2)

    def inverse_values(self) -> Floats:
        return _banded_inverse(self.band).ravel()


class BandedLayout:
    """LAPACK's lower band storage, in the order as given."""

    def __init__(self, Q: sp.csr_array, width: int) -> None:
        self.n = Q.shape[0]
        self.width = width
        self.n_stored = (width + 1) * self.n
        coo = Q.tocoo()
        self._source = np.flatnonzero(coo.row >= coo.col)
        row, column = coo.row[self._source].astype(np.int64), coo.col[self._source]
        self._target = (row - column) * self.n + column
        self.diagonal = np.arange(self.n)

    def factor(self, data: Floats) -> BandedFactor:
        band = np.zeros(self.n_stored)
        band[self._target] = data[self._source]
        try:
            band = cholesky_banded(band.reshape(self.width + 1, self.n), lower=True)
        except np.linalg.LinAlgError as error:
            digits = "".join(c for c in str(error).split("-")[0] if c.isdigit())
            raise NotPositiveDefinite(int(digits or 1) - 1) from None
        return BandedFactor(np.ascontiguousarray(band))

    def places(self, row: Ints, column: Ints) -> Ints:
        high, low = np.maximum(row, column), np.minimum(row, column)
        inside = high - low <= self.width
        return np.where(inside, (high - low) * self.n + low, -1).astype(np.int64)

    def entries(self) -> tuple[Ints, Ints, Ints]:
        offset, column = np.divmod(np.arange(self.n_stored), self.n)
        kept = column + offset < self.n
        return (column + offset)[kept], column[kept], np.flatnonzero(kept)


# --- a band with a border ---------------------------------------------------------------------


class BorderedFactor:
    """The factor [[L, 0], [G, R]] of a band that is followed by a few full rows."""

    def __init__(self, layout: BorderedLayout, band: BandedFactor, G: Floats, R: Floats) -> None:
        self.layout, self.band, self.G, self.R = layout, band, G, R
        self.log_det = band.log_det + 2.0 * float(np.log(np.diag(R)).sum())

    def _band_solve(self, right: Floats, trans: str) -> Floats:
        solution, _ = lapack.dtbtrs(self.band.band, right, uplo="L", trans=trans)
        return np.asarray(solution)

    def _backward(self, top: Floats, bottom: Floats) -> Floats:
        low = solve_triangular(self.R, bottom, lower=True, trans="T")
        out = np.empty((self.layout.n, top.shape[1]))
        # Lᵀ of the arrow: border first, then the band
        out[self.layout.inner] = self._band_solve(top - self.G.T @ low, "T")
        out[self.layout.border] = low
        return out

    def solve(self, right: Floats) -> Floats:
        matrix = np.asarray(right, dtype=np.float64).reshape(self.layout.n, -1)
        top = self._band_solve(matrix[self.layout.inner], "N")
        # the border without what the band explains
        bottom = matrix[self.layout.border] - self.G @ top
        bottom = solve_triangular(self.R, bottom, lower=True)
        return self._backward(top, bottom).reshape(np.shape(right))

    def root_solve(self, right: Floats) -> Floats:
        matrix = np.asarray(right, dtype=np.float64).reshape(self.layout.n, -1)
        out = self._backward(matrix[self.layout.inner], matrix[self.layout.border])
        return out.reshape(np.shape(right))

    def pivots(self) -> Floats:
        out = np.empty(self.layout.n)
        out[self.layout.inner] = self.band.pivots()
        out[self.layout.border] = np.diag(self.R) ** 2
        return out

    def inverse_values(self) -> Floats:
        # With H = B^-1 C': V_22 = S^-1, V_12 = -H V_22 and V_11 = B^-1 + H V_22 H'.
        H = self._band_solve(self.G.T, "T")
        root = solve_triangular(self.R, H.T, lower=True)
        corner, _ = lapack.dpotri(self.R, lower=1)
        corner = np.tril(corner) + np.tril(corner, -1).T
        m = H.shape[0]
        inside = self.band.inverse_values().reshape(-1, m)
        for offset in range(inside.shape[0]):
            # diagonals of B⁻¹ + H V_22 Hᵀ that lie in the band
            inside[offset, : m - offset] += np.einsum(
                "ij,ij->j", root[:, offset:], root[:, : m - offset]
            )
        rows = np.concatenate([-(H @ corner).T, corner], axis=1)
        return np.concatenate([inside.ravel(), rows.ravel()])


class BorderedLayout:
    """A band in the order as given, with the rows of the border taken out and put last."""

    def __init__(self, Q: sp.csr_array, border: Ints, width: int) -> None:
        self.n = n = Q.shape[0]
        self.border = border
        self.inner = np.setdiff1d(np.arange(n), border)
        m, k = self.inner.size, border.size
        self._where = np.empty(n, dtype=np.int64)
        self._where[self.inner], self._where[border] = np.arange(m), m + np.arange(k)
        inside = sp.csr_array(Q[self.inner][:, self.inner])
        self._band = BandedLayout(inside, max(min(width, m - 1), 0))
        self._n_band = self._band.n_stored
        self.n_stored = self._n_band + k * n
        coo = Q.tocoo()
        row, column = self._where[coo.row], self._where[coo.col]
        self._inside = np.flatnonzero((row < m) & (column < m))
        self._rows = np.flatnonzero(row >= m)
        self._rows_target = (row[self._rows] - m) * n + column[self._rows]
        every = np.arange(n)
        self.diagonal = self.places(every, every)

    def factor(self, data: Floats) -> BorderedFactor:
        n, m = self.n, self.inner.size
        try:
            # Rows and columns keep their order, so that what is left of the data does too.
            band = self._band.factor(data[self._inside])
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(int(self.inner[error.row])) from None
        rows = np.zeros((n - m) * n)
        rows[self._rows_target] = data[self._rows]
        rows = rows.reshape(n - m, n)
        G = np.asarray(lapack.dtbtrs(band.band, rows[:, :m].T, uplo="L", trans="N")[0]).T
        # the Schur complement of the band
        R, failed = lapack.dpotrf(rows[:, m:] - G @ G.T, lower=1, clean=1)
        if failed > 0 or not np.isfinite(R).all():
            raise NotPositiveDefinite(int(self.border[max(int(failed) - 1, 0)]))
        return BorderedFactor(self, band, G, R)

    def places(self, row: Ints, column: Ints) -> Ints:
        i, j = self._where[np.asarray(row)], self._where[np.asarray(column)]
        high, low, m = np.maximum(i, j), np.minimum(i, j), self.inner.size
        inside = self._band.places(np.minimum(high, m - 1), np.minimum(low, m - 1))
        return np.where(high < m, inside, self._n_band + (high - m) * self.n + low)

    def entries(self) -> tuple[Ints, Ints, Ints]:
        row, column, place = self._band.entries()
        m, n = self.inner.size, self.n
        order = np.concatenate([self.inner, self.border])
        high, low = np.divmod(np.arange((n - m) * n), n)
        kept = low <= high + m
        return (
            np.concatenate([self.inner[row], order[high[kept] + m]]),
            np.concatenate([self.inner[column], order[low[kept]]]),
            np.concatenate([place, self._n_band + np.flatnonzero(kept)]),
        )


def find_border(Q: sp.csr_array) -> tuple[Ints, int] | None:
    """Return the few full rows without which a pattern is a narrow band, and its width."""
    counts = np.diff(Q.indptr)
    border = np.flatnonzero(counts > 2 * BAND_LIMIT + 1 + BORDER_LIMIT)
    if not 0 < border.size <= BORDER_LIMIT or border.size >= Q.shape[0]:
        return None
    where = np.cumsum(~np.isin(np.arange(Q.shape[0]), border)) - 1
    coo = Q.tocoo()
    kept = ~(np.isin(coo.row, border) | np.isin(coo.col, border))
    width = int(abs(where[coo.row[kept]] - where[coo.col[kept]]).max(initial=0))
    return (border, width) if width <= BAND_LIMIT else None


# --- dense ------------------------------------------------------------------------------------


class DenseFactor:
    """L Lᵀ of a dense matrix."""

    def __init__(self, root: Floats) -> None:
        self.root = root
        self.log_det = 2.0 * float(np.log(np.diag(root)).sum())

    def solve(self, right: Floats) -> Floats:
        solution, _ = lapack.dpotrs(self.root, np.asarray(right, dtype=np.float64), lower=1)
        return np.asarray(solution)

    def root_solve(self, right: Floats) -> Floats:
        return np.asarray(solve_triangular(self.root, right, lower=True, trans="T"))

    def pivots(self) -> Floats:
        return np.diag(self.root) ** 2

    def inverse_values(self) -> Floats:
        inverse, _ = lapack.dpotri(self.root, lower=1)
        lower = np.tril(inverse)
        return (lower + np.tril(inverse, -1).T).ravel()


class DenseLayout:
    """A square array."""

    def __init__(self, Q: sp.csr_array) -> None:
        self.n = Q.shape[0]
        self.n_stored = self.n * self.n
        coo = Q.tocoo()
        self._target = coo.row.astype(np.int64) * self.n + coo.col
        self.diagonal = np.arange(self.n) * (self.n + 1)

    def factor(self, data: Floats) -> DenseFactor:
        matrix = np.zeros(self.n_stored)
        matrix[self._target] = data
        root, failed = lapack.dpotrf(matrix.reshape(self.n, self.n), lower=1, clean=1)
        if failed > 0 or not np.isfinite(root).all():
            raise NotPositiveDefinite(max(int(failed) - 1, 0))
        return DenseFactor(root)

    def places(self, row: Ints, column: Ints) -> Ints:
        return np.asarray(row, dtype=np.int64) * self.n + column

    def entries(self) -> tuple[Ints, Ints, Ints]:
        row, column = np.tril_indices(self.n)
        return row, column, row * self.n + column


# --- the choice -------------------------------------------------------------------------------


def canonical_symmetric(Q: Any) -> sp.csr_array:
    """Return Q as csr with sorted indices, a full diagonal and no entry twice; refuse asymmetry."""
    matrix = sp.csr_array(Q, dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"Expected a square matrix, got one of shape {matrix.shape}.")
    if not np.isfinite(matrix.data).all():
        raise ValueError("Expected a matrix of finite numbers, got one with NaN or infinity.")
    n = matrix.shape[0]
    coo = matrix.tocoo()
    every = np.arange(n)
    rows = np.concatenate([coo.row, coo.col, every])
    columns = np.concatenate([coo.col, coo.row, every])
    full = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
    full.data[:] = 0.0
    np.add.at(full.data, entry_places(full, coo.row, coo.col), coo.data)
    gap = abs(matrix - matrix.T)
    scale = abs(matrix.data).max(initial=0.0)
    if gap.nnz and gap.max() > 1e-8 * scale:
        at = gap.tocoo()
        worst = int(np.argmax(at.data))
        i, j = int(at.row[worst]), int(at.col[worst])
        raise ValueError(
            f"Expected a symmetric matrix, got {matrix[i, j]:g} at ({i}, {j}) and "
            f"{matrix[j, i]:g} at ({j}, {i})."
        )
    return full


def entry_places(pattern: sp.csr_array, row: Ints, column: Ints) -> Ints:
    """Return where entries (row, column) stand in `pattern.data`; its indices must be sorted."""
    n = pattern.shape[1]
    keys = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr)) * n
    keys += pattern.indices
    return np.searchsorted(keys, np.asarray(row, dtype=np.int64) * n + column)


def analyze_precision(Q: sp.csr_array, order: Ints | None = None) -> Any:
    """Return the layout for a canonical pattern: a band, with or without a border of full rows, a
    dense square, or supernodes.

    Parameters
    ----------
    Q : csr array of shape (n, n)
        As `canonical_symmetric` returns it.
    order : array of shape (n,), default=None
        An order of elimination that is known to be good; found if None.
    """
    n = Q.shape[0]
    if n <= TINY and order is None:
        return DenseLayout(Q)
    coo = Q.tocoo()
    width = int(abs(coo.row - coo.col).max(initial=0))
    if width <= BAND_LIMIT and order is None:
        return BandedLayout(Q, width)
    if (n <= DENSE_LIMIT or Q.nnz > 0.5 * n * n) and order is None:
        return DenseLayout(Q)
    if order is None and (found := find_border(Q)) is not None:
        return BorderedLayout(Q, *found)
    return SupernodalLayout(Q, order)


def factorize(Q: Any, order: Ints | None = None) -> Any:
    """Return the factor of a symmetric positive definite matrix, dense or sparse."""
    canonical = canonical_symmetric(Q)
    return analyze_precision(canonical, order).factor(canonical.data)


def selected_inverse_matrix(layout: Layout, values: Floats) -> sp.csr_array:
    """Return the flat inverse as a sparse symmetric matrix in the matrix's own order."""
    row, column, place = layout.entries()
    off = row != column
    rows = np.concatenate([row, column[off]])
    columns = np.concatenate([column, row[off]])
    data = np.concatenate([values[place], values[place[off]]])
    return sp.csr_array((data, (rows, columns)), shape=(layout.n, layout.n))


def _warmup() -> None:
    _banded_inverse(np.ones((2, 3)))
