"""Eigenvalues and eigenvectors of a decomposed matrix after a rank-one change, in quadratic time.

For Σ = diag(σ), the eigenvalues of Σ + τaaᵀ are the roots of 1 + τ Σ aᵢ²/(σᵢ − ξ), one between each
two neighbouring σ. Each is found by rational interpolation in the distance to the nearer pole, so
that it is accurate relative to that distance. Zero entries of a and equal σ are deflated. The
vectors are those of the matrix whose eigenvalues the computed roots exactly are (Gu and
Eisenstat), which makes them orthogonal to working precision however close the roots lie.

References
----------
J. R. Bunch, C. P. Nielsen and D. C. Sorensen. Rank-one modification of the symmetric eigenproblem.
Numerische Mathematik 31, 1978.
R.-C. Li. Solving secular equations stably and efficiently. LAPACK Working Note 89, 1993.
M. Gu and S. C. Eisenstat. A stable and efficient algorithm for the rank-one modification of the
symmetric eigenproblem. SIAM Journal on Matrix Analysis and Applications 15, 1994.
D. Oglic. Constructive approximation and learning by greedy algorithms (thesis), Section 2.6.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

_EPS = float(np.finfo(np.float64).eps)


class RankOneEigen(NamedTuple):
    """`eigenvalues`, ascending; `eigenvectors`, in columns; `n_deflated`, how many eigenpairs
    the change left as they were; `n_iter`, the most steps that a root took.
    """

    eigenvalues: Floats
    eigenvectors: Floats
    n_deflated: int
    n_iter: int


@njit(cache=True)
def _secular_sums(sigma, a2, origin, eta, split):
    """Return ψ (poles up to `split`), φ (beyond) and their slopes at σ[origin] + η."""
    psi = dpsi = phi = dphi = 0.0
    for j in range(split + 1):
        gap = (sigma[j] - sigma[origin]) - eta
        term = a2[j] / gap
        psi += term
        dpsi += term / gap
    for j in range(split + 1, sigma.size):
        gap = (sigma[j] - sigma[origin]) - eta
        term = a2[j] / gap
        phi += term
        dphi += term / gap
    return psi, dpsi, phi, dphi


@njit(cache=True)
def _interpolated(psi, dpsi, phi, dphi, to_left, to_right, last):
    """Return the step to the root of 1 + p + q/(left − x) + r + s/(right − x).

    p, q fit ψ and r, s fit φ, in value and slope at x = 0 (Section 2.6.2.1, with its two signs
    put right); nan where there is none.
    """
    q = dpsi * to_left * to_left
    c = 1.0 + psi - dpsi * to_left  # the constant of ψ's and φ's fits together
    if last:  # nothing lies beyond the last pole
        return to_left + q / c if c != 0.0 else np.nan
    s = dphi * to_right * to_right
    c += phi - dphi * to_right
    b = -(c * (to_left + to_right) + q + s)
    d = c * to_left * to_right + q * to_right + s * to_left
    disc = b * b - 4.0 * c * d
    if disc < 0.0:
        return np.nan
    # the root without a difference of near numbers
    t = -0.5 * (b + (disc**0.5 if b >= 0.0 else -(disc**0.5)))
    first = t / c if c != 0.0 else np.nan
    second = d / t if t != 0.0 else np.nan
    return first if to_left < first < to_right else second


@njit(cache=True)
def _root_between(sigma, a2, k, total):
    """Return (origin, η, steps): the root of 1 + Σ a²/(σ − ξ) above σ[k] is σ[origin] + η."""
    n = sigma.size
    last = k == n - 1
    width = total if last else sigma[k + 1] - sigma[k]
    psi, dpsi, phi, dphi = _secular_sums(sigma, a2, k, 0.5 * width, k)
    # Count from the nearer pole: left of the middle where the function is already positive.
    origin = k if last or 1.0 + psi + phi >= 0.0 else k + 1
    if origin == k:
        low, high = 0.0, width if last else 0.5 * width
        left, right = 0.0, width
    else:
        low, high = -0.5 * width, 0.0
        left, right = -width, 0.0
    if last:
        if 1.0 + psi < 0.0:
            low = 0.5 * width
        else:
            high = 0.5 * width
    eta = 0.5 * (low + high)
    steps = 0
    for _ in range(100):
        steps += 1
        psi, dpsi, phi, dphi = _secular_sums(sigma, a2, origin, eta, k)
        value = 1.0 + psi + phi
        if value < 0.0:
            low = eta
        else:
            high = eta
        noise = 8.0 * n**0.5 * 2.220446049250313e-16 * (1.0 + abs(psi) + abs(phi))
        if abs(value) <= noise or high - low <= 4.440892098500626e-16 * max(abs(low), abs(high)):
            break
        trial = eta + _interpolated(psi, dpsi, phi, dphi, left - eta, right - eta, last)
        eta = trial if low < trial < high else 0.5 * (low + high)
    return origin, eta, steps


@njit(cache=True)
def _rank_one_roots(sigma, a2):
    """Return the gaps σ[j] − ξ[i] in row i, and the most steps taken, for τ = 1 and σ ascending."""
    n = sigma.size
    gaps = np.empty((n, n))
    roots = np.empty(n)
    most = 0
    total = a2.sum()
    for i in range(n):
        origin, eta, steps = _root_between(sigma, a2, i, total)
        most = max(most, steps)
        roots[i] = sigma[origin] + eta
        for j in range(n):
            gaps[i, j] = (sigma[j] - sigma[origin]) - eta
    return roots, gaps, most


@njit(cache=True)
def _stable_column(sigma, gaps, a):
    """Return â, for which the computed roots are exact (Gu and Eisenstat)."""
    n = sigma.size
    out = np.empty(n)
    for i in range(n):
        product = -gaps[n - 1, i]
        for j in range(i):
            product *= gaps[j, i] / (sigma[i] - sigma[j])
        for j in range(i, n - 1):
            product *= gaps[j, i] / (sigma[i] - sigma[j + 1])
        # â_i² = Π_j (ξ_j − σ_i)/Π_{j≠i} (σ_j − σ_i)
        out[i] = np.sqrt(abs(product)) if a[i] >= 0.0 else -np.sqrt(abs(product))
    return out


@checked
def rank_one_eigh(
    sigma: ArrayLike, U: ArrayLike | None, a: ArrayLike, tau: float = 1.0
) -> RankOneEigen:
    """Decompose U diag(σ) Uᵀ + τaaᵀ.

    Parameters
    ----------
    sigma : array-like of shape (n,)
        Eigenvalues of the old matrix, in any order.
    U : array-like of shape (n, n) or None
        Its orthonormal eigenvectors, in columns; None for the identity.
    a : array-like of shape (n,)
        The vector of the change, in the coordinates of the matrix.
    tau : float, default=1.0
        Its weight; may be negative.

    Returns
    -------
    RankOneEigen
        ``eigenvalues``, ``eigenvectors``, ``n_deflated``, ``n_iter``.

    Notes
    -----
    The eigenvalues take O(n²); so do the vectors for ``U=None``. With U given, the product with
    it is a matrix product, and `numpy.linalg.eigh` is about as fast for n of some hundreds: to
    apply the new vectors to one vector, multiply with the two factors one after the other.

    References
    ----------
    .. [1] Gu and Eisenstat (1994). A stable and efficient algorithm for the rank-one
       modification of the symmetric eigenproblem. SIAM J. Matrix Anal. Appl. 15.
    .. [2] Oglic (2018). Constructive approximation and learning by greedy algorithms, Section
       2.6.2. Thesis, Bonn.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import rank_one_eigh
    >>> rank_one_eigh([1.0, 2.0], None, [1.0, 1.0]).eigenvalues.round(4).tolist()
    [1.382, 3.618]
    """
    sigma = np.asarray(sigma, dtype=np.float64)
    a = np.asarray(a, dtype=np.float64)
    n = len(sigma)
    basis = None if U is None else np.asarray(U, dtype=np.float64)
    if sigma.ndim != 1 or a.shape != (n,) or (basis is not None and basis.shape != (n, n)):
        seen = None if basis is None else basis.shape
        raise ValueError(
            f"sigma and a must be vectors of one length n and U (n, n) or None; got {sigma.shape}, "
            f"{a.shape} and {seen}."
        )
    if not (np.isfinite(sigma).all() and np.isfinite(a).all() and np.isfinite(tau)):
        raise ValueError("sigma, a and tau must be finite.")
    inside = a if basis is None else basis.T @ a
    # Σ + τaaᵀ with τ < 0 is −(−Σ + |τ|aaᵀ).
    sign = -1.0 if tau < 0.0 else 1.0
    values, vectors, n_deflated, n_iter = _updated(sign * sigma, np.sqrt(abs(tau)) * inside)
    values = sign * values
    order = np.argsort(values, kind="stable")
    vectors = vectors[:, order]
    vectors = vectors if basis is None else basis @ vectors
    return RankOneEigen(values[order], vectors, n_deflated, n_iter)


def _updated(sigma: Floats, a: Floats) -> tuple[Floats, Floats, int, int]:
    """Return the eigenpairs of diag(σ) + aaᵀ, in any order."""
    n = len(sigma)
    order = np.argsort(sigma, kind="stable")
    values, column, rotation = _deflated(sigma[order], a[order])
    kept = column != 0.0
    vectors = np.eye(n)
    n_iter = 0
    if kept.any():
        inner = values[kept]
        roots, gaps, n_iter = _rank_one_roots(inner, column[kept] ** 2)
        stable = _stable_column(inner, gaps, column[kept])
        block = (stable / gaps).T  # vectors ∝ (Σ − ξ)⁻¹â
        block /= np.linalg.norm(block, axis=0)
        values = values.copy()
        values[kept] = roots
        vectors[np.ix_(kept, kept)] = block
    for i, j, c, s in reversed(rotation):
        upper, lower = vectors[i].copy(), vectors[j].copy()
        vectors[i], vectors[j] = c * upper + s * lower, c * lower - s * upper
    back = np.empty_like(vectors)
    back[order] = vectors
    return values, back, int(n - kept.sum()), n_iter


def _deflated(
    sigma: Floats, a: Floats
) -> tuple[Floats, Floats, list[tuple[int, int, float, float]]]:
    """Return σ and a, ascending, with entries of a made zero where they, or gaps of σ, vanish.

    Of two σ that are equal to working precision, a rotation puts all of a into the second
    (Section 2.6.2.2).
    """
    length = float(np.linalg.norm(a))
    size = max(float(np.abs(sigma).max(initial=0.0)), length * length)
    sigma, a = sigma.copy(), a.copy()
    a[np.abs(a) * length <= 8.0 * _EPS * size] = 0.0
    rotation = []
    before = -1
    for j in map(int, np.flatnonzero(a)):
        if before >= 0:
            r = float(np.hypot(a[before], a[j]))
            c, s = a[j] / r, a[before] / r
            # What the rotation leaves off the diagonal: (σⱼ − σᵢ)cs.
            if abs((sigma[j] - sigma[before]) * c * s) <= 8.0 * _EPS * size:
                low, high = sigma[before], sigma[j]
                sigma[before] = c * c * low + s * s * high
                sigma[j] = s * s * low + c * c * high
                a[before], a[j] = 0.0, r
                rotation.append((before, j, float(c), float(s)))
        before = j
    return sigma, a, rotation


def _warmup() -> None:
    """Compile all of the above."""
    rank_one_eigh(np.array([0.0, 1.0, 2.0]), None, np.array([1.0, 1.0, 1.0]))
    _secular_sums(np.array([0.0, 1.0]), np.ones(2), 0, 0.5, 0)
    _root_between(np.array([0.0, 1.0]), np.ones(2), 0, 2.0)
    _interpolated(-1.0, 1.0, 1.0, 1.0, -1.0, 1.0, False)
