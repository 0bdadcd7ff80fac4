"""Gaussian prior times Gaussian sites: the algebra that Laplace, EP and the corrections repeat.

A model is a prior p0(x) with rows of A that say which combinations u = A x carry a term. For sites
exp(h_j u_j - q_j u_j² / 2), `model.gaussian(h, q)` returns mean, variances, covariances and the
exact log of the integral, for a normalised prior. `PrecisionModel` works with sparse precisions,
`CovarianceModel` with a dense covariance that is never inverted. Constraints C x = b are
imposed by conditioning (Eq. 8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, lapack, lu_factor, lu_solve, qr

from octavo.bayes.latent_gaussian.priors import as_prior, linear_part
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.sparse_gaussian.factor import (
    NotPositiveDefinite,
    analyze_precision,
    canonical_symmetric,
    entry_places,
)
from octavo.engine.sparse_gaussian.quadrature import LOG_2PI

Constraints = tuple[Floats, Floats]


def log_normal(x: Floats, mean: Floats, covariance: Floats) -> float:
    """Return log N(x; mean, covariance) for a small dense covariance."""
    root, failed = lapack.dpotrf(covariance, lower=1)
    if failed:
        raise ValueError("The constraints repeat each other: C V C' is singular.")
    gap = x - mean
    white = cho_solve((root, True), gap)
    log_det = 2.0 * np.log(np.diag(root)).sum()
    return float(-0.5 * (gap @ white + log_det + gap.size * LOG_2PI))


class GaussianState:
    """A Gaussian approximation q(x): what sites make of a prior.

    mean : of x; `mean_u` : of u = A x.
    log_integral : log ∫ p0(x) Π exp(h_j u_j - q_j u_j²/2) dx.
    log_det : log-determinant of the precision, up to a constant of the model.
    """

    mean: Floats
    mean_u: Floats
    log_integral: float
    log_det: float
    model: Any

    def _free_covariance(self, B: Floats) -> Floats:
        """Return V B before constraints."""
        raise NotImplementedError

    def _free_variances(self) -> tuple[Floats, Floats]:
        """Return the variances of x and of u before constraints."""
        raise NotImplementedError

    def _constrain(self, before: float) -> None:
        """Condition on C x = b; `before` is the prior's log density of b."""
        self._lift: tuple[Floats, Floats] | None = None
        self._slack: Floats | None = None
        if self.model.constraints is None:
            return
        C, b = self.model.constraints
        W = self._free_covariance(np.ascontiguousarray(C.T))
        S = C @ W
        gap = C @ self.mean - b
        self.log_integral += log_normal(b, C @ self.mean, S) - before
        # the gain of Eq. (8)
        gain = np.linalg.solve(S, W.T).T  # V C'(C V C')⁻¹
        self.mean = self.mean - gain @ gap  # Eq. (8)
        self.mean_u = self.model.A @ self.mean
        # log det of the density on C x = b, which is that of x given C x
        self.log_det += np.linalg.slogdet(S)[1]
        self._lift = (gain, W)
        if self.model.pinned.size:
            self._unpin(self.model.pinned, self.model.pin_scale)

    def _unpin(self, pinned: Ints, scale: float) -> None:
        """Take off the pins that made the factor regular, now that constraints hold the rest.

        A pin multiplies the density by exp(-scale x_i² / 2); the inverse factor is one more
        Gaussian of the pinned entries, of negative precision, so that variances grow.
        """
        E = np.zeros((self.mean.size, pinned.size))
        E[pinned, np.arange(pinned.size)] = 1.0
        W = self.covariance(E)
        inner = np.eye(pinned.size) - scale * W[pinned]
        at = self.mean[pinned]
        solved = np.linalg.solve(inner, np.column_stack([at, np.eye(pinned.size)]))
        self.log_integral += 0.5 * scale * float(at @ solved[:, 0])
        self.log_integral -= 0.5 * np.linalg.slogdet(inner)[1]
        self.log_det += np.linalg.slogdet(inner)[1]
        self.mean = self.mean + scale * (W @ solved[:, 0])
        self.mean_u = self.model.A @ self.mean
        # V + W M W' with M = scale (I - scale V_JJ)^-1.
        M = 0.5 * scale * (solved[:, 1:] + solved[:, 1:].T)
        gain, before = self._lift  # type: ignore[misc]
        self._lift = (np.hstack([gain, -W @ M]), np.hstack([before, W]))
        self._slack = W @ np.linalg.cholesky(M)

    @property
    def n_normals(self) -> int:
        """How many standard normal numbers make one draw."""
        return self.mean.size + (0 if self._slack is None else self._slack.shape[1])

    def covariance(self, B: Floats) -> Floats:
        """Return V B for the columns of B, or for a vector."""
        B = np.asarray(B, dtype=np.float64)
        out = self._free_covariance(np.ascontiguousarray(B.reshape(B.shape[0], -1)))
        if self._lift is not None:
            gain, W = self._lift
            out = out - gain @ (W.T @ B.reshape(B.shape[0], -1))  # the covariance of Eq. (8)
        return out.reshape(B.shape)

    def variances(self) -> tuple[Floats, Floats]:
        """Return the variances of x and of u."""
        if not hasattr(self, "_variances"):
            var_x, var_u = self._free_variances()
            if self._lift is not None:
                gain, W = self._lift
                var_x = var_x - (gain * W).sum(axis=1)  # the diagonal of Eq. (8)
                var_u = var_u - ((self.model.A @ gain) * (self.model.A @ W)).sum(axis=1)
            floor = 1e-300
            self._variances = np.maximum(var_x, floor), np.maximum(var_u, floor)
        return self._variances

    def combination_moments(self, rows: sp.csr_array) -> tuple[Floats, Floats]:
        """Return mean and variance of rows times x."""
        variance = self._free_row_variances(rows)
        if self._lift is not None:
            gain, W = self._lift
            variance = variance - ((rows @ gain) * (rows @ W)).sum(axis=1)
        return np.asarray(rows @ self.mean), np.maximum(variance, 0.0)

    def _free_row_variances(self, rows: sp.csr_array) -> Floats:
        """Return the variances of rows times x before constraints, by solves in blocks."""
        out = np.empty(rows.shape[0])
        for begin in range(0, rows.shape[0], 64):
            some = rows[begin : begin + 64].toarray()
            column = self._free_covariance(np.ascontiguousarray(some.T))
            out[begin : begin + 64] = (some * column.T).sum(axis=1)
        return out

    def sample(self, normals: Floats) -> Floats:
        """Return draws (rows) from standard normal rows of length `n_normals`."""
        n = self.mean.size
        draws = self.mean + self._free_draws(normals[:, :n])
        if self._lift is not None:
            C, b = self.model.constraints
            # a free draw moved onto C x = b: it then has the law of Eq. (8)
            draws = draws - (draws @ C.T - b) @ self._lift[0][:, : len(b)].T
        if self._slack is not None:
            draws = draws + normals[:, n:] @ self._slack.T
        return draws

    def _free_draws(self, normals: Floats) -> Floats:
        raise NotImplementedError


def checked_constraints(constraints: Any, n: int) -> Constraints | None:
    """Return (C, b) as arrays; rows that repeat each other are dropped, contradictions refused."""
    if constraints is None:
        return None
    if not isinstance(constraints, (tuple, list)) or len(constraints) != 2:
        raise ValueError("constraints should be a pair (C, b).")
    C = constraints[0].toarray() if sp.issparse(constraints[0]) else constraints[0]
    C = np.atleast_2d(np.asarray(C, dtype=np.float64))
    b = np.atleast_1d(np.asarray(constraints[1], dtype=np.float64))
    if C.shape[1] != n or b.shape != (C.shape[0],):
        raise ValueError(
            f"constraints should have C of shape (k, {n}) and b of shape (k,), "
            f"got {C.shape} and {b.shape}."
        )
    if not (np.isfinite(C).all() and np.isfinite(b).all()):
        raise ValueError("constraints should be finite numbers.")
    _, triangle, order = qr(C.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int((sizes > 1e-10 * max(float(sizes[0]), 1e-300)).sum())
    kept = np.sort(order[:rank])
    solution = np.linalg.lstsq(C, b, rcond=None)[0]
    gap = np.abs(C @ solution - b)
    if gap.max() > 1e-8 * (1.0 + np.abs(b).max()):
        raise ValueError(
            f"The constraints contradict each other: row {int(gap.argmax())} cannot hold "
            f"beside the others (it misses by {gap.max():g})."
        )
    return C[kept], b[kept]


# --- sparse precision -------------------------------------------------------------------------


class _PrecisionState(GaussianState):
    def __init__(self, model: PrecisionModel, h: Floats, q: Floats) -> None:
        self.model = model
        data = model.posterior_data(q)
        if model.pinned.size:
            data[model.pin_places] += model.pin_scale
        self.factor = model.layout.factor(data)
        linear = model.linear + model.A.T @ h  # h + A'h̃, the canonical mean of q, Eq. (11)
        self.mean = self.factor.solve(linear)
        self.mean_u = model.A @ self.mean
        self.log_det = self.factor.log_det
        # ½ l'Q⁻¹l - ½ log|Q + A'q A|, then the prior's own normaliser
        self.log_integral = 0.5 * float(linear @ self.mean) - 0.5 * self.log_det
        self.log_integral += 0.5 * model.n * LOG_2PI - model.log_norm
        self._constrain(model.log_constraint)

    def _free_covariance(self, B: Floats) -> Floats:
        return np.asarray(self.factor.solve(B))

    def _free_variances(self) -> tuple[Floats, Floats]:
        values = self.factor.inverse_values()
        # var(u_j) needs the inverse only where A'A has entries (Appendix A)
        return values[self.model.layout.diagonal], self.model.variance_map @ values

    def _free_row_variances(self, rows: sp.csr_array) -> Floats:
        sizes = np.diff(rows.indptr).astype(np.int64)
        if int((sizes * sizes).sum()) <= 40_000_000:  # wide rows need more pairs than a solve costs
            term, row, column, product = row_pairs(rows)
            places = self.model.layout.places(row, column)
            if places.size and places.min() >= 0:
                values = self.factor.inverse_values()[places] * product
                summed = np.bincount(term, values, minlength=rows.shape[0])
                return np.asarray(summed, dtype=np.float64)
        return super()._free_row_variances(rows)

    def _free_draws(self, normals: Floats) -> Floats:
        return np.asarray(self.factor.root_solve(np.ascontiguousarray(normals.T))).T


def row_pairs(A: sp.csr_array) -> tuple[Ints, Ints, Ints, Floats]:
    """Return all pairs of entries within each row: the row's number, both columns, the product."""
    counts = np.diff(A.indptr).astype(np.int64)
    sizes = counts * counts
    term = np.repeat(np.arange(A.shape[0]), sizes)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.repeat(A.indptr[:-1], sizes) + within // np.repeat(counts, sizes)
    second = np.repeat(A.indptr[:-1], sizes) + within % np.repeat(counts, sizes)
    row, column = A.indices[first].astype(np.int64), A.indices[second].astype(np.int64)
    return term, row, column, A.data[first] * A.data[second]


def _pair_maps(A: sp.csr_array, pattern: sp.csr_array, layout: Any) -> tuple[Any, Any]:
    """Return M with (A' diag(q) A).data = M q on the pattern, and W with var(u) = W inverse."""
    term, row, column, product = row_pairs(A)
    places = entry_places(pattern, row, column)
    M = sp.csr_array((product, (places, term)), shape=(pattern.nnz, A.shape[0]))
    stored = layout.places(row, column)
    W = sp.csr_array((product, (term, stored)), shape=(A.shape[0], layout.n_stored))
    return M, W


class PrecisionModel:
    """A prior by its precision Q and linear part h, with terms on A x.

    Parameters
    ----------
    Q : sparse array of shape (n, n)
        Canonical, see `canonical_symmetric`.
    linear : array of shape (n,)
    A : csr array of shape (m, n)
    constraints : pair (C, b) or None
    like : PrecisionModel or None
        Another of the same pattern (other hyper-parameters), whose analysis is used again.
    """

    def __init__(
        self,
        Q: sp.csr_array,
        linear: Floats,
        A: sp.csr_array,
        constraints: Constraints | None,
        like: PrecisionModel | None = None,
    ) -> None:
        self.n = Q.shape[0]
        self.pattern: Any
        self.layout: Any
        self._update_map: Any
        self.variance_map: Any
        self._own_places: Ints
        self._null: Floats | None = None
        self.log_norm: float
        self.log_constraint: float
        # Entries that are held while constraints alone fix what prior and data leave free.
        self.pinned: Ints = np.zeros(0, dtype=np.int64)
        self.pin_places: Ints = self.pinned
        self.pin_scale = 0.0
        self.Q, self.linear, self.A, self.constraints = Q, linear, A, constraints
        same = like is not None and np.array_equal(like.Q.indptr, Q.indptr)
        if like is not None and same and np.array_equal(like.Q.indices, Q.indices):
            self.pattern, self.layout = like.pattern, like.layout
            self._update_map, self.variance_map = like._update_map, like.variance_map
            self._own_places, self._null = like._own_places, like._null
        else:
            touched = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
            overlap = sp.csr_array(touched.T @ touched)
            self.pattern = _union(Q, overlap)
            self.layout = analyze_precision(self.pattern)
            self._update_map, self.variance_map = _pair_maps(A, self.pattern, self.layout)
            coo = Q.tocoo()
            self._own_places = entry_places(self.pattern, coo.row, coo.col)
        self._base = np.zeros(self.pattern.nnz)
        self._base[self._own_places] = Q.data
        self.log_norm, self.log_constraint = self._normalize()

    def posterior_data(self, q: Floats) -> Floats:
        return self._base + self._update_map @ q

    def posterior_precision(self, q: Floats) -> sp.csr_array:
        """Return Q + A' diag(q) A."""
        data = self.posterior_data(q)
        return sp.csr_array((data, self.pattern.indices, self.pattern.indptr), (self.n, self.n))

    def gaussian(self, h: Floats, q: Floats) -> GaussianState:
        try:
            return _PrecisionState(self, h, q)
        except NotPositiveDefinite:
            if self.rank < self.n and not np.any(q):
                raise ValueError(
                    f"The prior is improper in {self.n - self.rank} direction(s), which neither "
                    "data nor constraints fix."
                ) from None
            raise

    def coordinates(self, state: GaussianState) -> Floats:
        return state.mean

    def at(self, x: Floats) -> Floats:
        """Return u for coordinates."""
        return np.asarray(self.A @ x)

    def log_prior(self, x: Floats) -> float:
        """Return the unnormalised log density."""
        return float(self.linear @ x - 0.5 * x @ (self.Q @ x))

    def prior_variance(self) -> float:
        """Return a typical prior variance, for a first guess."""
        return float(1.0 / np.maximum(np.median(self.Q.diagonal()), 1e-12))

    def _normalize(self) -> tuple[float, float]:
        """Return log ∫ exp(h'x - x'Qx/2) dx and the prior's log density of the constraints.

        An improper prior has the generalised determinant; with constraints that make it proper
        the integral runs over what they allow.
        """
        n = self.n
        factor = _regular_factor(self.layout, self._base, self.Q.diagonal())
        if factor is not None:
            self.rank = n
            mean = factor.solve(self.linear)
            # log ∫ exp(h'x - x'Qx/2) dx of a proper prior
            log_norm = 0.5 * float(self.linear @ mean) - 0.5 * factor.log_det + 0.5 * n * LOG_2PI
            if self.constraints is None:
                return log_norm, 0.0
            C, b = self.constraints
            return log_norm, log_normal(b, C @ mean, C @ factor.solve(C.T))
        N = self._null = null_space(self.Q, self.pattern, self.layout, self._base, self._null)
        self.rank = n - N.shape[1]
        pinned = _pins(N)
        scale = float(self.Q.diagonal().max()) or 1.0
        data = self._base.copy()
        data[entry_places(self.pattern, pinned, pinned)] += scale
        try:
            factor = self.layout.factor(data)
        except NotPositiveDefinite as error:
            raise _indefinite(error.row) from None
        mean = factor.solve(self.linear)
        # det(Q + s E E') = |Q|* det(s N_J N_J') for the k pinned rows J: the generalised
        # determinant without a single eigenvalue.
        log_det = factor.log_det - pinned.size * np.log(scale)
        log_det -= 2.0 * np.linalg.slogdet(N[pinned])[1]
        if self.constraints is None or not _fixes(self.constraints[0], N):
            return -0.5 * log_det + 0.5 * self.rank * LOG_2PI, 0.0
        # Constraints make it proper: integrate exp(h'x - x'Qx/2) over C x = b, with the pins
        # taken off again by a Gaussian integral over the pinned entries.
        C, b = self.constraints
        if not _fixes(self.A, N):
            self.pinned, self.pin_scale = pinned, scale
            self.pin_places = entry_places(self.pattern, pinned, pinned)
        W = factor.solve(np.ascontiguousarray(C.T))
        S = C @ W
        log_norm = 0.5 * float(self.linear @ mean) - 0.5 * factor.log_det + 0.5 * n * LOG_2PI
        log_norm += log_normal(b, C @ mean, S)
        gain = np.linalg.solve(S, W.T).T
        E = np.zeros((n, pinned.size))
        E[pinned, np.arange(pinned.size)] = 1.0
        at = (mean - gain @ (C @ mean - b))[pinned]
        spread = (factor.solve(E) - gain @ (W.T @ E))[pinned]
        inner = np.eye(pinned.size) - scale * spread
        log_norm += 0.5 * scale * float(at @ np.linalg.solve(inner, at))
        log_norm -= 0.5 * np.linalg.slogdet(inner)[1]
        return log_norm, 0.0


def _indefinite(row: int) -> ValueError:
    return ValueError(
        "The prior precision should be positive semi-definite, got an indefinite matrix "
        f"(its pivot at row {row} is negative)."
    )


def _union(Q: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    a, b = Q.tocoo(), other.tocoo()
    rows, columns = np.concatenate([a.row, b.row]), np.concatenate([a.col, b.col])
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=Q.shape)


def _regular_factor(layout: Any, data: Floats, diagonal: Floats) -> Any:
    """Return the factor, or None where the matrix is singular to rounding."""
    try:
        factor = layout.factor(data)
    except NotPositiveDefinite:
        return None
    pivots = factor.pivots()
    # A pivot over its diagonal entry is the part of a variance that is left once others are
    # known; rounding leaves 1e-15 of it where the truth is nothing.
    return factor if (pivots > 1e-13 * np.maximum(diagonal, 1e-300)).all() else None


def null_space(
    Q: sp.csr_array, pattern: sp.csr_array, layout: Any, data: Floats, guess: Floats | None
) -> Floats:
    """Return an orthonormal basis of the directions that cost nothing; refuse an indefinite Q."""
    n, scale = Q.shape[0], max(float(Q.diagonal().max()), 1e-300)
    if guess is not None and np.abs(Q @ guess).max() <= 1e-12 * scale:
        return guess
    shifted = None
    for shift in (1e-12, 1e-10, 1e-8):
        try:
            moved = data.copy()
            moved[entry_places(pattern, np.arange(n), np.arange(n))] += shift * scale
            shifted = layout.factor(moved)
            break
        except NotPositiveDefinite as error:
            row = error.row
    if shifted is None:
        raise _indefinite(row)
    size = min(n, 8)
    rng = np.random.default_rng(0)
    while True:
        Z = np.linalg.qr(rng.standard_normal((n, size)))[0]
        for _ in range(8):
            # inverse iteration: directions that cost nothing grow most
            Z = np.linalg.qr(shifted.solve(Z))[0]
        _, rotation = np.linalg.eigh(Z.T @ (Q @ Z))
        Z = Z @ rotation
        free = np.linalg.norm(Q @ Z, axis=0) <= 3e-13 * scale
        if not free.all() or size == n:
            return Z[:, free]
        size = min(n, 2 * size)


def _fixes(rows: Any, N: Floats) -> bool:
    """Whether rows times x, once known, leave none of the directions free."""
    if rows.shape[0] < 1:
        return False
    size = float(np.abs(rows).max())
    # Contrasts of a constant leave rounding, which a relative threshold would take for a rank.
    rank = np.linalg.matrix_rank(rows @ N, tol=1e-9 * size)
    return bool(size > 0 and rank == N.shape[1])


def _pins(N: Floats) -> Ints:
    """Return rows of the basis that determine it well."""
    _, _, order = qr(N.T, mode="economic", pivoting=True)
    return np.sort(order[: N.shape[1]]).astype(np.int64)


# --- dense covariance -------------------------------------------------------------------------


class _CovarianceState(GaussianState):
    def __init__(self, model: CovarianceModel, h: Floats, q: Floats) -> None:
        self.model = model
        m = model.Ku.shape[0]
        shifted = h - q * model.mean_u  # h - q m0: sites about the prior's mean
        self._inner: Floats | None = None
        if (q >= 0).all():
            self._root = np.sqrt(q)
            # B = I + W^½ K W^½ has no eigenvalue below one, whatever K is
            B = self._root[:, None] * model.Ku * self._root
            B.flat[:: m + 1] += 1.0
            L, failed = lapack.dpotrf(B, lower=1, clean=1)
            if failed:
                raise NotPositiveDefinite(int(failed) - 1)
            self._factor = L
            self.log_det = 2.0 * float(np.log(np.diag(L)).sum())
        else:  # some site pushes away: (I + W K)⁻¹ W by elimination
            B = q[:, None] * model.Ku
            B.flat[:: m + 1] += 1.0
            factors = lu_factor(B)
            diagonal = np.diag(factors[0])
            swaps = int((factors[1] != np.arange(m)).sum())
            # the sign of det(I + W K): where it is not positive there is no Gaussian
            if (np.sign(diagonal).prod() * (-1) ** swaps) <= 0:
                raise NotPositiveDefinite(int(np.argmin(q)))
            self.log_det = float(np.log(np.abs(diagonal)).sum())
            self._inner = lu_solve(factors, np.diag(q))
        # (I + W K)⁻¹ (h - W m) without K⁻¹
        self.weights = shifted - self._apply(model.Ku @ shifted)
        move = model.Ku @ self.weights
        self.mean_u = model.mean_u + move
        self.mean = model.mean + model.Kxu @ self.weights
        self.log_integral = float((h * model.mean_u - 0.5 * q * model.mean_u**2).sum())
        # ½ s'(K⁻¹ + W)⁻¹ s - ½ log|I + W K|
        self.log_integral += 0.5 * float(shifted @ move) - 0.5 * self.log_det
        self._constrain(model.log_constraint)

    def _apply(self, right: Floats) -> Floats:
        """Return (K_u + W⁻¹)⁻¹ times a vector or columns."""
        if self._inner is not None:
            return np.asarray(self._inner @ right)
        root = self._root if right.ndim == 1 else self._root[:, None]
        solution, _ = lapack.dpotrs(self._factor, root * right, lower=1)
        return np.asarray(root * solution).reshape(right.shape)

    @property
    def site_precision(self) -> Floats:
        """(K_u + W⁻¹)⁻¹ = W^{1/2} B⁻¹ W^{1/2}, formed when it is first asked for."""
        if self._inner is None:
            white, _ = lapack.dtrtrs(self._factor, np.diag(self._root), lower=1)
            self._inner = white.T @ white
        return self._inner

    def _free_covariance(self, B: Floats) -> Floats:
        model = self.model
        # V = K - K_xu (K_u + W⁻¹)⁻¹ K_ux
        return np.asarray(model.K @ B - model.Kxu @ self._apply(model.Kxu.T @ B))

    def _lost(self, K: Floats) -> Floats:
        """Return the diagonal of K (K_u + W⁻¹)⁻¹ Kᵀ."""
        if self._inner is not None:
            return np.asarray(((K @ self._inner) * K).sum(axis=1))
        white, _ = lapack.dtrtrs(self._factor, self._root[:, None] * K.T, lower=1)
        return np.asarray(np.einsum("ij,ij->j", white, white))

    def _free_variances(self) -> tuple[Floats, Floats]:
        model = self.model
        var_u = np.diag(model.Ku) - self._lost(model.Ku)
        if model.identity:
            return var_u, var_u
        return np.diag(model.K) - self._lost(model.Kxu), var_u

    def _free_draws(self, normals: Floats) -> Floats:
        # not by a factor of V, which may be singular
        V = self._free_covariance(np.eye(self.model.n))
        values, vectors = np.linalg.eigh(0.5 * (V + V.T))
        return (normals * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


class CovarianceModel:
    """A prior N(mean, K) with dense K, and terms on A x."""

    def __init__(
        self, K: Floats, mean: Floats, A: sp.csr_array, constraints: Constraints | None
    ) -> None:
        self.n = self.rank = K.shape[0]
        self.pinned: Ints = np.zeros(0, dtype=np.int64)
        self.K, self.mean, self.A, self.constraints = K, mean, A, constraints
        self.identity = (
            A.shape == K.shape and A.nnz == self.n and (A.data == 1.0).all()
        ) and np.array_equal(A.indices, np.arange(self.n))
        self.Kxu = K if self.identity else np.asarray((A @ K).T)
        self.Ku = K if self.identity else np.asarray(A @ self.Kxu)
        self.mean_u = np.asarray(A @ mean)
        self.log_constraint = 0.0
        if constraints is not None:
            C, b = constraints
            self.log_constraint = log_normal(b, C @ mean, C @ K @ C.T)

    def gaussian(self, h: Floats, q: Floats) -> GaussianState:
        return _CovarianceState(self, h, q)

    def coordinates(self, state: GaussianState) -> Floats:
        return state.weights  # type: ignore[attr-defined]

    def at(self, weights: Floats) -> Floats:
        return np.asarray(self.mean_u + self.Ku @ weights)

    def log_prior(self, weights: Floats) -> float:
        return float(-0.5 * weights @ (self.Ku @ weights))

    def prior_variance(self) -> float:
        return float(np.median(np.diag(self.K)))

    def posterior_precision(self, q: Floats) -> sp.csr_array:
        """Return K⁻¹ + A' diag(q) A, with a whisper on the diagonal of K where it is singular."""
        K = self.K + 1e-10 * np.diag(self.K).mean() * np.eye(self.n)
        inverse = np.linalg.inv(K)
        update = (self.A.T * q) @ self.A
        return sp.csr_array(0.5 * (inverse + inverse.T) + update.toarray())


# --- from what a user says --------------------------------------------------------------------


def checked_covariance(covariance: Any) -> Floats:
    """Return a symmetric positive semi-definite array, or a sentence."""
    K = covariance.toarray() if sp.issparse(covariance) else covariance
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"The covariance should be a square matrix, got shape {K.shape}.")
    if not np.isfinite(K).all():
        raise ValueError("The covariance should be finite, got NaN or infinity.")
    gap = np.abs(K - K.T)
    if gap.max(initial=0.0) > 1e-8 * np.abs(K).max(initial=0.0):
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"The covariance should be symmetric, got {K[i, j]:g} at ({i}, {j}) and "
            f"{K[j, i]:g} at ({j}, {i})."
        )
    smallest = np.linalg.eigvalsh(K)[0]
    if smallest < -1e-8 * max(float(np.diag(K).max()), 1e-300):
        raise ValueError(
            "The covariance should be positive semi-definite, got one whose smallest "
            f"eigenvalue is {smallest:g}."
        )
    return 0.5 * (K + K.T)


def build_model(
    prior: Any, A: sp.csr_array | None, keep: Ints, constraints: Any, like: Any = None
) -> Any:
    """Return the model for a prior as a user gives it.

    Parameters
    ----------
    A : csr array of shape (observations, latents) or None
        None puts term j on x_j.
    keep : array
        Rows with an observation.
    like : model or None
        Of other hyper-parameters, to be used again where the pattern is the same.
    """
    matrix, linear = linear_part(prior)
    prior = as_prior(matrix)
    given = prior.precision if prior.precision is not None else prior.covariance
    if not hasattr(given, "shape"):
        given = np.asarray(given, dtype=np.float64)
    n = given.shape[0] if len(given.shape) else 0
    if len(given.shape) != 2 or given.shape[1] != n:
        kind = "precision" if prior.precision is not None else "covariance"
        raise ValueError(f"The prior {kind} should be a square matrix, got shape {given.shape}.")
    if A is None:
        if keep.size and keep.max() >= n:
            raise ValueError(f"y should have one entry per latent ({n}), or A say where they are.")
        rows = sp.csr_array((np.ones(keep.size), keep, np.arange(keep.size + 1)), (keep.size, n))
    else:
        if A.shape[1] != n:
            raise ValueError(f"A should have one column per latent ({n}), got {A.shape[1]}.")
        rows = sp.csr_array(A[keep])
        rows.sort_indices()
    mean = np.zeros(n) if prior.mean is None else np.asarray(prior.mean, dtype=np.float64)
    for name, vector in (("mean", mean), ("h", linear)):
        if vector is not None and (vector.shape != (n,) or not np.isfinite(vector).all()):
            raise ValueError(f"The prior's {name} should be {n} finite numbers.")
    fixed = checked_constraints(constraints, n)
    if prior.precision is None:
        K = checked_covariance(given)
        if linear is not None:
            raise ValueError("A pair (Q, h) goes with a precision, not with a covariance.")
        return CovarianceModel(K, mean, rows, fixed)
    try:
        Q = canonical_symmetric(given)
    except ValueError as error:
        raise ValueError(f"The prior precision is refused. {error}") from None
    total = Q @ mean if linear is None else linear + Q @ mean
    return PrecisionModel(Q, total, rows, fixed, like if isinstance(like, PrecisionModel) else None)
