"""Laplace evidence of a multinomial-logit column given binary features, from grouped rows.

Rows with the same features are one pattern; a column is a table of counts, patterns x levels. The
weights B (1 + K rows for bias and features, R columns for levels) have independent N(0, σ²)
entries, all R columns of them. As log p(x | B) does not change when a row of B is shifted, the
maximum has rows that add up to zero, and the curvature along the shifts is that of the prior.
Hence Newton steps and determinants are those of R - 1 orthonormal contrasts (Helmert's), which is
exact and smaller; no level is a reference. `woodbury_system` is the paper's way for many levels:
a block-diagonal matrix and one vector for each pattern (Eq. 7 and 8).

Reference: F. J. R. Ruiz, I. Valera, C. Blanco and F. Perez-Cruz (2014), "Bayesian nonparametric
comorbidity analysis of psychiatric disorders", JMLR 15, Sections 3.1 and 3.2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

MOST_STEPS = 100  # of Newton; concave with a ridge, so that fewer than ten are the rule
SMALL = 1e-7  # squared Newton decrement at which the maximum is known well enough


def contrasts(n_levels: int) -> Floats:
    """Return Helmert's orthonormal contrasts (levels x levels - 1); those of fewer lead them."""
    found = np.zeros((n_levels, max(n_levels - 1, 1)))
    for c in range(n_levels - 1):
        scale = 1.0 / math.sqrt((c + 1.0) * (c + 2.0))
        found[: c + 1, c] = scale
        found[c + 1, c] = -(c + 1.0) * scale
    return found


@njit(cache=True, error_model="numpy")
def factor_lower(H, m):
    """Replace the lower triangle of the first m rows by its Cholesky factor; return log|H|."""
    total = 0.0
    for i in range(m):
        for j in range(i + 1):
            s = H[i, j]
            for k in range(j):
                s -= H[i, k] * H[j, k]
            if i == j:
                if s <= 0.0:
                    return np.nan
                H[i, i] = math.sqrt(s)
                total += math.log(s)
            else:
                H[i, j] = s / H[j, j]
    return total


@njit(cache=True, error_model="numpy")
def solve_lower(H, m, g, out):
    """Solve with a factor of `factor_lower`."""
    for i in range(m):
        s = g[i]
        for k in range(i):
            s -= H[i, k] * out[k]
        out[i] = s / H[i, i]
    for i in range(m - 1, -1, -1):
        s = out[i]
        for k in range(i + 1, m):
            s -= H[k, i] * out[k]
        out[i] = s / H[i, i]


@njit(cache=True, error_model="numpy")
def _probabilities(z, K1, R, B, pi):
    """Fill pi with the levels' probabilities; return the log of the normaliser."""
    top = -np.inf
    for r in range(R):
        pi[r] = 0.0
    for k in range(K1):
        if z[k] != 0.0:
            for r in range(R):
                pi[r] += z[k] * B[k, r]
    for r in range(R):
        top = max(top, pi[r])
    total = 0.0
    for r in range(R):
        pi[r] = math.exp(pi[r] - top)
        total += pi[r]
    for r in range(R):
        pi[r] /= total
    return top + math.log(total)


@njit(cache=True, error_model="numpy")
def _add_pattern(z, K1, R, U, counts, total, pi, g, H, held):
    """Add a pattern's residuals to the gradient and its curvature to H, both in contrasts."""
    n_held = 0
    for k in range(K1):
        if z[k] != 0.0:
            held[n_held] = k
            n_held += 1
    for c in range(R - 1):
        mean, residual = 0.0, 0.0
        for r in range(c + 2):
            mean += U[r, c] * pi[r]
            residual += U[r, c] * (counts[r] - total * pi[r])
        for i in range(n_held):
            g[c * K1 + held[i]] += residual * z[held[i]]  # rows of M - ρ, by contrasts
        for b in range(c + 1):
            other, w = 0.0, 0.0
            for r in range(b + 2):
                other += U[r, b] * pi[r]
                w += U[r, c] * U[r, b] * pi[r]
            # diag(π) - πᵀπ of Eq. (6), between contrasts c and b, times the pattern's rows.
            w = total * (w - mean * other)
            for i in range(n_held):
                wz = w * z[held[i]]
                row = c * K1 + held[i]
                last = i + 1 if b == c else n_held
                for j in range(last):
                    H[row, b * K1 + held[j]] += wz * z[held[j]]


@njit(cache=True, error_model="numpy")
def _look(P, G, K1, counts, d, R, U, prec, B, g, H, pi, held):
    """Return the log posterior of B without constants; fill its gradient and minus its Hessian."""
    m = (R - 1) * K1
    f = 0.0
    for i in range(m):
        g[i] = 0.0
        for j in range(i):
            H[i, j] = 0.0
        H[i, i] = prec
    for k in range(K1):
        for r in range(R):
            f -= 0.5 * prec * B[k, r] * B[k, r]  # the prior's part of Eq. (5)
        for c in range(R - 1):
            t = 0.0
            for r in range(c + 2):
                t += U[r, c] * B[k, r]
            g[c * K1 + k] = -prec * t
    for p in range(G):
        total = 0.0
        for r in range(R):
            total += counts[p, d, r]
        if total == 0.0:
            continue
        row = P[p]
        log_sum = _probabilities(row, K1, R, B, pi)
        f -= total * log_sum  # log p(x | B, Z) of Eq. (5)
        for k in range(K1):
            if row[k] != 0.0:
                for r in range(R):
                    f += row[k] * counts[p, d, r] * B[k, r]
        _add_pattern(row, K1, R, U, counts[p, d], total, pi, g, H, held)
    return f


@njit(cache=True, error_model="numpy")
def _woodbury(P, G, K1, counts, d, R, prec, B, g, step, work, pi):
    """Fill the Newton step in B by Eq. 7 and 8, all patterns at once; return log|−∇∇f|.

    −∇∇f = D − Σ v vᵀ with D block-diagonal over levels; the inverse needs the blocks' factors and
    that of the small matrix S = I − Vᵀ D⁻¹ V, and |−∇∇f| = |D| |S| (the lemma, with D⁻¹).
    """
    blocks, V, S, a, b = work
    n = 0
    for r in range(R):
        for i in range(K1):
            for j in range(i + 1):
                blocks[r, i, j] = prec if i == j else 0.0
            g[i, r] = -prec * B[i, r]
    for p in range(G):
        row = P[p]
        total = 0.0
        for r in range(R):
            total += counts[p, d, r]
        if total == 0.0:
            continue
        _probabilities(row, K1, R, B, pi)
        root = math.sqrt(total)
        for r in range(R):
            w = total * pi[r]
            for i in range(K1):
                # v_n of Section 3.2, for a whole pattern: its rows share one vector
                V[n, r, i] = root * pi[r] * row[i]
                g[i, r] += (counts[p, d, r] - w) * row[i]
                for j in range(i + 1):
                    blocks[r, i, j] += w * row[i] * row[j]  # Eq. (7)
        n += 1
    total = 0.0
    for r in range(R):
        total += factor_lower(blocks[r], K1)
        solve_lower(blocks[r], K1, g[:, r], a)
        for i in range(K1):
            step[i, r] = a[i]
    for p in range(n):
        for q in range(p + 1):
            S[p, q] = 1.0 if p == q else 0.0
    for r in range(R):
        for p in range(n):
            solve_lower(blocks[r], K1, V[p, r], a)
            for q in range(p + 1):
                for i in range(K1):
                    # Eq. (8) for all patterns at once: I - Vᵀ D⁻¹ V, symmetric and small.
                    S[p, q] -= a[i] * V[q, r, i]
    total += factor_lower(S, n)  # the determinant lemma, with D⁻¹ where print has D
    for p in range(n):
        b[p] = 0.0
        for r in range(R):
            for i in range(K1):
                b[p] += V[p, r, i] * step[i, r]
    solve_lower(S, n, b, b)
    for r in range(R):
        for i in range(K1):
            a[i] = 0.0
            for p in range(n):
                a[i] += V[p, r, i] * b[p]
        solve_lower(blocks[r], K1, a, a)
        for i in range(K1):
            step[i, r] += a[i]  # Eq. (8): D⁻¹ + D⁻¹ V S⁻¹ Vᵀ D⁻¹
    return total


@njit(cache=True, error_model="numpy")
def column_evidence(P, G, K1, counts, d, R, U, prec, B, old, g, H, step, pi, held):
    """Return Eq. 6, the Laplace log p(x | Z) of a column; B is the start and becomes the maximum.

    The first G patterns of P (patterns x K1, the bias first) and of `counts` (patterns x columns x
    levels) count. The rest is room to work in.
    """
    m = (R - 1) * K1
    before = -np.inf
    scale = 1.0
    for _ in range(MOST_STEPS):
        f = _look(P, G, K1, counts, d, R, U, prec, B, g, H, pi, held)
        if f < before - 1e-10 * abs(before) and scale > 1e-6:  # too far: half the step
            scale *= 0.5
            for k in range(K1):
                for r in range(R):
                    B[k, r] = 0.5 * (B[k, r] + old[k, r])
            continue
        before, scale = f, 1.0
        log_det = factor_lower(H, m)
        solve_lower(H, m, g, step)
        decrement = 0.0
        for i in range(m):
            decrement += g[i] * step[i]
        if decrement < SMALL:
            # Half the decrement is what the step not taken would still bring; log|I + σ²(...)| of
            # Eq. (6).
            return f + 0.5 * decrement - 0.5 * (log_det - m * math.log(prec))
        for k in range(K1):
            for r in range(R):
                old[k, r] = B[k, r]
            for c in range(R - 1):
                for r in range(c + 2):
                    B[k, r] += U[r, c] * step[c * K1 + k]
    return f - 0.5 * (log_det - m * math.log(prec))


@njit(cache=True, error_model="numpy")
def gaussian_evidence(P, G, K1, counts, d, prec, noise, B, H, h, step):
    """Return log p(x | Z) of a column of numbers, exactly; B[:, 0] becomes the posterior mean.

    `counts` holds the number of rows of a pattern, their sum and their sum of squares.
    """
    ridge = noise * prec
    n = squares = 0.0
    for i in range(K1):
        h[i] = 0.0
        for j in range(i):
            H[i, j] = 0.0
        H[i, i] = ridge
    for p in range(G):
        n += counts[p, d, 0]
        squares += counts[p, d, 2]
        for i in range(K1):
            if P[p, i] != 0.0:
                h[i] += counts[p, d, 1] * P[p, i]
                for j in range(i + 1):
                    H[i, j] += counts[p, d, 0] * P[p, i] * P[p, j]
    log_det = factor_lower(H, K1) - K1 * math.log(ridge)
    solve_lower(H, K1, h, step)
    fit = 0.0
    for i in range(K1):
        fit += h[i] * step[i]
        B[i, 0] = step[i]
    # the integral of a normal likelihood over its normal prior
    return -0.5 * (n * math.log(2.0 * math.pi * noise) + log_det + max(squares - fit, 0.0) / noise)


@njit(cache=True, error_model="numpy")
def binary_evidence(P, G, K1, counts, d, prec, B, old, g, H, step):
    """Return what `column_evidence` does for two levels, in the weights u = b_1 - b_0."""
    # u has variance 2σ²; the sum b_0 + b_1 is not seen by the likelihood and cancels.
    ridge = 0.5 * prec
    before, scale, f, log_det = -np.inf, 1.0, 0.0, 0.0
    for k in range(K1):
        B[k, 1] -= B[k, 0]  # u, until the end
    for _ in range(MOST_STEPS):
        f = 0.0
        for i in range(K1):
            f -= 0.5 * ridge * B[i, 1] * B[i, 1]
            g[i] = -ridge * B[i, 1]
            for j in range(i):
                H[i, j] = 0.0
            H[i, i] = ridge
        for p in range(G):
            ones, total = counts[p, d, 1], counts[p, d, 0] + counts[p, d, 1]
            if total == 0.0:
                continue
            u = 0.0
            for k in range(K1):
                u += P[p, k] * B[k, 1]
            e = math.exp(-abs(u))
            f += ones * u - total * (max(u, 0.0) + math.log1p(e))
            pi = 1.0 / (1.0 + e) if u > 0.0 else e / (1.0 + e)
            r, q = ones - total * pi, total * e / ((1.0 + e) * (1.0 + e))
            for i in range(K1):
                if P[p, i] != 0.0:
                    g[i] += r * P[p, i]
                    for j in range(i + 1):
                        H[i, j] += q * P[p, i] * P[p, j]
        if f < before - 1e-10 * abs(before) and scale > 1e-6:  # too far: half the step
            scale *= 0.5
            for k in range(K1):
                B[k, 1] = 0.5 * (B[k, 1] + old[k, 1])
            continue
        before, scale = f, 1.0
        log_det = factor_lower(H, K1) - K1 * math.log(ridge)
        solve_lower(H, K1, g, step)
        decrement = 0.0
        for i in range(K1):
            decrement += g[i] * step[i]
        if decrement < SMALL:
            f += 0.5 * decrement
            break
        for k in range(K1):
            old[k, 1] = B[k, 1]
            B[k, 1] += step[k]
    for k in range(K1):
        B[k, 1] *= 0.5
        B[k, 0] = -B[k, 1]
    return f - 0.5 * log_det


@njit(cache=True, error_model="numpy")
def expand_column(P, G, K1, counts, d, R, U, prec, B, S, tilt, H, g, step, pi, held, small):
    """Fill what `row_change` needs of a column at its maximum B.

    In the contrasts S becomes (−∇∇f)⁻¹, and `tilt` S times the gradient of log|−∇∇f|, which at a
    pattern is a third cumulant of the levels.
    """
    m, Q = (R - 1) * K1, R - 1
    _look(P, G, K1, counts, d, R, U, prec, B, g, H, pi, held)
    factor_lower(H, m)
    for i in range(m):
        for j in range(m):
            g[j] = 1.0 if i == j else 0.0
        solve_lower(H, m, g, step)
        for j in range(m):
            S[i, j] = step[j]
    for i in range(m):
        g[i] = 0.0
    for p in range(G):
        total = 0.0
        for r in range(R):
            total += counts[p, d, r]
        if total == 0.0:
            continue
        z = P[p]
        _probabilities(z, K1, R, B, pi)
        _spread_of(z, K1, Q, S, small)
        for c in range(Q):
            small[1, 0, c] = 0.0
            for r in range(R):
                small[1, 0, c] += U[r, c] * pi[r]
            small[1, 1, c] = 0.0
        for r in range(R):
            square = 0.0
            for a in range(Q):
                for b in range(Q):
                    # How much a level's log odds vary under the posterior: the third derivative's
                    # part of log|H|.
                    square += (
                        (U[r, a] - small[1, 0, a]) * small[0, a, b] * (U[r, b] - small[1, 0, b])
                    )
            for c in range(Q):
                small[1, 1, c] += total * pi[r] * square * (U[r, c] - small[1, 0, c])
        for c in range(Q):
            for k in range(K1):
                g[c * K1 + k] += small[1, 1, c] * z[k]
    for i in range(m):
        tilt[i] = 0.0
        for j in range(m):
            tilt[i] += S[i, j] * g[j]


@njit(cache=True, error_model="numpy")
def _spread_of(z, K1, Q, S, small):
    """Fill small[0] with (I ⊗ z)ᵀ S (I ⊗ z)."""
    for a in range(Q):
        for b in range(a + 1):
            total = 0.0
            for i in range(K1):
                if z[i] != 0.0:
                    for j in range(K1):
                        total += z[i] * S[a * K1 + i, b * K1 + j] * z[j]
            small[0, a, b] = total
            small[0, b, a] = total


@njit(cache=True, error_model="numpy")
def _row_terms(R, U, x, pi, small, at, sign):
    """Fill ± the residual and ± the curvature of a row in contrasts, at a place of `small`."""
    Q = R - 1
    for c in range(Q):
        mean = 0.0
        for r in range(R):
            mean += U[r, c] * pi[r]
        small[1, 0, at + c] = sign * (U[x, c] - mean)
        small[1, 1, c] = mean
    for a in range(Q):
        for b in range(a + 1):
            w = 0.0
            for r in range(R):
                w += U[r, a] * U[r, b] * pi[r]
            w = sign * (w - small[1, 1, a] * small[1, 1, b])
            small[2, at + a, b] = w
            small[2, at + b, a] = w


@njit(cache=True, error_model="numpy")
def _eliminate(A, n):
    """Solve n equations with the right side in the last column, pivots by size; return log|A|."""
    total = 0.0
    for i in range(n):
        best = i
        for p in range(i + 1, n):
            if abs(A[p, i]) > abs(A[best, i]):
                best = p
        if best != i:
            for q in range(i, n + 1):
                A[i, q], A[best, q] = A[best, q], A[i, q]
        if A[i, i] == 0.0:
            return np.nan
        total += math.log(abs(A[i, i]))
        for p in range(i + 1, n):
            w = A[p, i] / A[i, i]
            for q in range(i, n + 1):
                A[p, q] -= w * A[i, q]
    for i in range(n - 1, -1, -1):
        for q in range(i + 1, n):
            A[i, n] -= A[i, q] * A[q, n]
        A[i, n] /= A[i, i]
    return total


@njit(cache=True, error_model="numpy")
def row_change(z, k, to, extra, K1, R, U, x, B, S, tilt, pi, step, small):
    """Return by how much Eq. 6 changes when one row does, and how far the weights move.

    The row has features z and level x. Its entry k becomes `to`, and `extra` is the variance of
    features of its own; with a negative k it is taken out. The rest of the table has the quadratic
    of its maximum, from which the row's old terms (-W, -r) are taken out; its new ones are those of
    the levels' probabilities themselves, at the moved maximum: with V = (I ⊗ z', I ⊗ z), M = VᵀSV
    and C = diag(W', -W) each step solves (I + C M) ω = (r' + W' y', -r), y = M ω. `tilt` is how the
    determinant changes along S V ω. What is left out is of third order in the move of the weights,
    whose entries add up to what is returned.
    """
    Q = R - 1
    n = Q if k < 0 else 2 * Q
    _probabilities(z, K1, R, B, pi)
    # the row's own log likelihood leaves; further down the new one comes
    change = -math.log(max(pi[x], 1e-300))
    _row_terms(R, U, x, pi, small, 0, -1.0)
    _spread_of(z, K1, Q, S, small)
    jump, before = 0.0, z[max(k, 0)]
    if k >= 0:
        jump = to - before
        for a in range(Q):
            for b in range(Q):
                one = 0.0
                for i in range(K1):
                    one += S[a * K1 + k, b * K1 + i] * z[i]
                small[0, Q + a, b] = small[0, a, b] + jump * one
                small[0, b, Q + a] = small[0, Q + a, b]
        for a in range(Q):
            for b in range(Q):
                small[0, Q + a, Q + b] = (
                    small[0, Q + a, b]
                    + (small[0, Q + b, a] - small[0, b, a])
                    + jump * jump * S[a * K1 + k, b * K1 + k]
                )
            small[0, Q + a, Q + a] += extra
    A = small[3]
    log_det = 0.0
    for i in range(n):
        small[1, 2, i] = 0.0  # y
    for _ in range(MOST_STEPS if k >= 0 else 1):
        if k >= 0:
            z[k] = to
            _moved_probabilities(z, K1, R, U, B, small[1, 2], Q, pi)
            z[k] = before
            _row_terms(R, U, x, pi, small, Q, 1.0)
        for i in range(n):
            base = 0 if i < Q else Q
            A[i, n] = small[1, 0, i]
            for j in range(n):
                total = 1.0 if i == j else 0.0
                for c in range(Q):
                    total += small[2, i, c] * small[0, base + c, j]
                A[i, j] = total
            if i >= Q:
                for c in range(Q):
                    A[i, n] += small[2, i, c] * small[1, 2, Q + c]
        log_det = _eliminate(A, n)
        moved = 0.0
        for i in range(n):
            y = 0.0
            for j in range(n):
                y += small[0, i, j] * A[j, n]
            moved = max(moved, abs(y - small[1, 2, i]))
            small[1, 2, i] = y
        if moved < 1e-3:
            break
    if k >= 0:
        z[k] = to
        _moved_probabilities(z, K1, R, U, B, small[1, 2], Q, pi)
        z[k] = before
        change += math.log(max(pi[x], 1e-300))
    change -= 0.5 * log_det
    for i in range(n):
        change -= 0.5 * small[1, 2, i] * A[i, n]
    for c in range(Q):
        change += small[1, 0, c] * small[1, 2, c]  # the old terms at their move: r is -r
        for b in range(Q):
            change -= 0.5 * small[1, 2, c] * small[2, c, b] * small[1, 2, b]
        w = A[c, n] if k < 0 else A[c, n] + A[Q + c, n]
        for i in range(K1):
            step[c * K1 + i] = w * z[i]
        if k >= 0:
            step[c * K1 + k] += A[Q + c, n] * jump
    far, m = 0.0, Q * K1
    for i in range(m):
        change -= 0.5 * tilt[i] * step[i]
        moved = 0.0
        for j in range(m):
            moved += S[i, j] * step[j]
        far += abs(moved)
    return (change, far) if change == change else (np.inf, np.inf)


@njit(cache=True, error_model="numpy")
def _moved_probabilities(z, K1, R, U, B, y, at, pi):
    """Fill pi with the levels' probabilities where a row's contrasts move by y, from `at` on."""
    top, total = -np.inf, 0.0
    for r in range(R):
        pi[r] = 0.0
        for c in range(R - 1):
            pi[r] += U[r, c] * y[at + c]
        for k in range(K1):
            pi[r] += z[k] * B[k, r]
        top = max(top, pi[r])
    for r in range(R):
        pi[r] = math.exp(pi[r] - top)
        total += pi[r]
    for r in range(R):
        pi[r] /= total


class ColumnPosterior(NamedTuple):
    """Laplace posterior of the weights of a column.

    Attributes
    ----------
    weights : ndarray of shape (n_patterns columns, n_levels)
        Where the posterior is largest.
    log_evidence : float
        Eq. 6.
    """

    weights: Floats
    log_evidence: float


def woodbury_system(patterns: Floats, counts: Floats, weights: Floats, sigma2: float):
    """Return the Newton step at some weights and log|−∇∇f|, by Eq. 7 and 8.

    Parameters
    ----------
    patterns : ndarray of shape (n_patterns, n_columns)
        Features of each pattern, the bias first.
    counts : ndarray of shape (n_patterns, n_levels)
        How often each level stands at each pattern.
    weights : ndarray of shape (n_columns, n_levels)
        Where.
    sigma2 : float
        Prior variance of the weights.

    Returns
    -------
    step : ndarray of shape (n_columns, n_levels)
        (−∇∇f)⁻¹ ∇f.
    log_det : float
        log|−∇∇f|, of n_columns x n_levels weights.
    decrement : float
        The gradient times the step.
    """
    G, K1 = patterns.shape
    R = counts.shape[1]
    g, step = np.empty((K1, R)), np.empty((K1, R))
    work = (
        np.empty((R, K1, K1)),
        np.empty((G + 1, R, K1)),
        np.empty((G + 1, G + 1)),
        np.empty(K1),
        np.empty(G + 1),
    )
    table = np.ascontiguousarray(counts, dtype=np.float64)[:, None, :]
    log_det = _woodbury(
        np.ascontiguousarray(patterns, dtype=np.float64),
        G,
        K1,
        table,
        0,
        R,
        1.0 / sigma2,
        np.ascontiguousarray(weights, dtype=np.float64),
        g,
        step,
        work,
        np.empty(R),
    )
    return step, float(log_det), float((g * step).sum())


def _log_posterior(patterns: Floats, counts: Floats, B: Floats, sigma2: float) -> float:
    eta = patterns @ B
    top = eta.max(axis=1, keepdims=True)
    norm = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
    return float((counts * eta).sum() - counts.sum(axis=1) @ norm - 0.5 * (B**2).sum() / sigma2)


def _dense_system(patterns: Floats, counts: Floats, weights: Floats, sigma2: float):
    """Return what `woodbury_system` does, from the whole matrix."""
    eta = patterns @ weights
    pi = np.exp(eta - eta.max(axis=1, keepdims=True))
    pi /= pi.sum(axis=1, keepdims=True)
    residual = counts - counts.sum(axis=1, keepdims=True) * pi
    g = (patterns.T @ residual - weights / sigma2).T.ravel()
    H = curvature(patterns, counts, weights, sigma2)
    step = np.linalg.solve(H, g)
    log_det = float(np.linalg.slogdet(H)[1])
    return step.reshape(weights.shape[::-1]).T, log_det, float(g @ step)


def _fit_newton(patterns: Floats, counts: Floats, sigma2: float, system: Any) -> ColumnPosterior:
    """Return the posterior by Newton steps of `woodbury_system` or `_dense_system`."""
    B = np.zeros((patterns.shape[1], counts.shape[1]))
    f = _log_posterior(patterns, counts, B, sigma2)
    for _ in range(MOST_STEPS):
        step, log_det, decrement = system(patterns, counts, B, sigma2)
        if decrement < SMALL:
            break
        scale, trial = 1.0, B + step
        while (new := _log_posterior(patterns, counts, trial, sigma2)) < f and scale > 1e-6:
            scale *= 0.5
            trial = B + scale * step
        B, f = trial, new
    log_det += B.size * math.log(sigma2)
    # the step whose rise the evidence counts belongs to the weights as well
    mode = B + step if decrement < SMALL else B
    return ColumnPosterior(mode, f + 0.5 * decrement - 0.5 * log_det)


def fit_column(
    patterns: Floats, counts: Floats, sigma2: float, *, method: str = "auto"
) -> ColumnPosterior:
    """Return the Laplace posterior and evidence of a column of levels.

    Parameters
    ----------
    patterns : ndarray of shape (n_patterns, n_columns)
        Features of each pattern, the bias first.
    counts : ndarray of shape (n_patterns, n_levels)
        How often each level stands at each pattern.
    sigma2 : float
        Prior variance of the weights.
    method : {"auto", "cholesky", "dense", "woodbury"}, default="auto"
        The compiled factor of all contrasts, the whole matrix, or the blocks of levels with one
        vector for each pattern; ``"auto"`` takes the last beyond 200 weights and few patterns, and
        else the second, which needs no compiler.

    Returns
    -------
    posterior : ColumnPosterior
        Mode and log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.smooth.softmax_laplace import fit_column
    >>> found = fit_column(np.ones((1, 1)), np.array([[3.0, 1.0]]), 1.0)
    >>> found.weights.round(3).tolist(), round(found.log_evidence, 3)
    ([[0.35, -0.35]], -2.845)
    """
    patterns = np.ascontiguousarray(patterns, dtype=np.float64)
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    G, K1 = patterns.shape
    R = counts.shape[1]
    if method == "auto":
        method = "woodbury" if R * K1 > 200 and 6 * G < R * K1 else "dense"
    if method != "cholesky":
        system = woodbury_system if method == "woodbury" else _dense_system
        return _fit_newton(patterns, counts, sigma2, system)
    m = (R - 1) * K1
    B = np.zeros((K1, R))
    value = column_evidence(
        patterns,
        G,
        K1,
        counts[:, None, :],
        0,
        R,
        contrasts(R),
        1.0 / sigma2,
        B,
        np.empty_like(B),
        np.empty(m),
        np.empty((m, m)),
        np.empty(m),
        np.empty(R),
        np.empty(K1, dtype=np.int64),
    )
    return ColumnPosterior(B, float(value))


def curvature(patterns: Floats, counts: Floats, weights: Floats, sigma2: float) -> Floats:
    """Return −∇∇f of a column, levels x features in this order, as a full matrix (Section 3.1)."""
    eta = patterns @ weights
    pi = np.exp(eta - eta.max(axis=1, keepdims=True))
    pi /= pi.sum(axis=1, keepdims=True)
    n = counts.sum(axis=1)
    inner = np.einsum("g,gr,rs->grs", n, pi, np.eye(pi.shape[1]))
    inner -= np.einsum("g,gr,gs->grs", n, pi, pi)
    R, K1 = pi.shape[1], patterns.shape[1]
    full = np.einsum("grs,gk,gl->rksl", inner, patterns, patterns, optimize=True)
    return full.reshape(R * K1, R * K1) + np.eye(R * K1) / sigma2


def _warmup() -> None:
    for method in ("cholesky", "woodbury"):
        fit_column(np.ones((1, 1)), np.ones((1, 2)), 1.0, method=method)
    one, two, room = np.ones((1, 1)), np.ones((1, 2)), np.empty((4, 1))
    counts, U, small = np.ones((1, 1, 3)), contrasts(2), np.empty((4, 3, 3))
    gaussian_evidence(one, 1, 1, counts, 0, 1.0, 1.0, one.copy(), one.copy(), room[0], room[1])
    binary_evidence(one, 1, 1, counts, 0, 1.0, two.copy(), two.copy(), room[0], one.copy(), room[1])
    S, held, pi = one.copy(), np.empty(1, dtype=np.int64), np.empty(2)
    expand_column(
        one, 1, 1, counts, 0, 2, U, 1.0, two, S, room[0], one.copy(), room[1], room[2], pi, held,
        small,
    )  # fmt: skip
    row_change(one[0], 0, 0.0, 0.0, 1, 2, U, 1, two, S, room[0], pi, room[1], small)
