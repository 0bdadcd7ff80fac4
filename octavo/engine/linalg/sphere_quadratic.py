"""The global minimum of a quadratic on a sphere, with linear constraints: min zᵀSz − 2bᵀz, ‖z‖ = R.

S may be indefinite, and the problem has many local minima; the global one has the smallest
Lagrange multiplier µ, the root of the secular equation Σ b̃ᵢ²/(σᵢ − µ)² = R² that lies below every
eigenvalue σᵢ of S. Where b has no part in the eigenspace of the smallest eigenvalue there may be
no such root (the "hard case"; b = 0 is one): µ is then that eigenvalue itself, and a multiple of
its eigenvector makes up the missing length.

The equation is solved for the gap ω = σ_min − µ, in which nothing cancels. It is written for a
pencil, Σ nᵢ²/(δᵢ − νeᵢ)² = R², so that the same lines serve S itself (δ = σ, e = 1) and the
inverse (S − s)⁻¹ of a stiff S (δ = 1, e = the eigenvalues of the inverse), whose large eigenvalues
are the accurate ones.

References
----------
G. E. Forsythe and G. H. Golub. On the stationary values of a second-degree polynomial on the unit
sphere. Journal of SIAM 13, 1965.
W. Gander, G. H. Golub and U. von Matt. A constrained eigenvalue problem. Linear Algebra and its
Applications 114, 1989.
D. Oglic. Constructive approximation and learning by greedy algorithms (thesis), Sections 2.4 and
2.5.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal, eigvals, qr, solve_triangular
from scipy.linalg.lapack import dgtsv, dormqr, dsytrd
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

Apply = Callable[[Floats], Floats]

_NOTHING = 1e-13  # a part of the right-hand side below this, relative, is rounding
_EQUAL = 1e-13  # eigenvalues that differ by less, relative to the spread, are one
_MAX_STEPS = 100


class SphereMinimum(NamedTuple):
    """The minimiser `z`, its `multiplier` µ, the `objective` zᵀSz − 2bᵀz, whether it is the
    `hard_case` (−z along one eigenvector would do as well), the KKT `residual`
    ‖(S − µI)z − b‖ within the linear constraints, relative, and `n_iter` secular steps.
    """

    z: Floats
    multiplier: float
    objective: float
    hard_case: bool
    residual: float
    n_iter: int


class SecularRoot(NamedTuple):
    """Where the secular equation holds: `gap` ω below the first pole, the solution's
    `coordinates`, whether it is the `hard_case`, the index of the `free` direction whose sign
    is then arbitrary, and `n_iter`.
    """

    gap: float
    pole: float
    coordinates: Floats
    hard_case: bool
    free: int
    n_iter: int


def secular_root(n: Floats, delta: Floats, e: Floats, radius: float) -> SecularRoot:
    """Solve Σ nᵢ²/(δᵢ − νeᵢ)² = R² for the ν below every pole δᵢ/eᵢ.

    Parameters
    ----------
    n : ndarray of shape (m,)
        Numerators: the linear term in the eigenbasis.
    delta, e : ndarray of shape (m,)
        The pencil's diagonal: every eᵢ ≥ 0, one of them positive, and δᵢ > 0 where eᵢ = 0.
    radius : float
        R > 0.

    Returns
    -------
    SecularRoot
        ν is ``pole - gap``; `coordinates` are nᵢ/(δᵢ − νeᵢ), with norm R.
    """
    with np.errstate(divide="ignore"):
        poles = np.where(e > 0.0, delta / np.where(e > 0.0, e, 1.0), np.inf)
    free = int(np.argmin(poles))
    pole = float(poles[free])
    g = np.maximum(delta - pole * e, 0.0)
    first = g <= _EQUAL * max(float(np.abs(delta).max()), abs(pole) * float(e.max()))
    g = np.where(first, 0.0, g)
    part = float(np.linalg.norm(n[first]))
    if part <= _NOTHING * float(np.linalg.norm(n)):
        n = np.where(first, 0.0, n)
        part = 0.0
        rest = np.where(first, 0.0, n / np.where(first, 1.0, g))
        missing = radius**2 - float(rest @ rest)
        if missing >= 0.0:  # the hard case: µ is the eigenvalue itself
            rest[free] = np.sqrt(missing)
            return SecularRoot(0.0, pole, rest, True, free, 0)
    # part/R alone leaves ‖z‖ ≥ R: a start left of the root
    gap, n_iter = _gap(n, g, e, radius, part / (radius * float(e[first].max())))
    z = _quotient(n, g + gap * e)
    return SecularRoot(gap, pole, z * (radius / float(np.linalg.norm(z))), False, free, n_iter)


def _quotient(n: Floats, d: Floats) -> Floats:
    """Return n/d, and 0 where n is 0."""
    return np.divide(n, d, out=np.zeros_like(n), where=n != 0.0)


def _gap(n: Floats, g: Floats, e: Floats, radius: float, gap: float) -> tuple[float, int]:
    """Return ω with Σ n²/(g + ωe)² = R², by Newton's method on the reciprocal of the norm.

    1/‖z(ω)‖ is concave and increasing, and the start is to the left of the root: the steps go up
    and never past it (Section 2.4.3).
    """
    for step in range(1, _MAX_STEPS + 1):
        d = g + gap * e
        z = _quotient(n, d)
        length2 = float(z @ z)
        slope = float(z @ _quotient(z * e, d))
        if slope <= 0.0:
            return gap, step
        move = length2 / slope * (np.sqrt(length2) / radius - 1.0)  # of 1/‖z‖ = 1/R
        gap += move
        if move <= 1e-15 * gap:  # the steps go up until rounding stops them
            return gap, step
    return gap, _MAX_STEPS


# --- the same with a tridiagonal form in place of an eigendecomposition ---------------------------


class TridiagonalForm(NamedTuple):
    """A symmetric matrix as QTQᵀ, with the few largest eigenpairs of T.

    `reflectors` and `tau` hold Q, `d` and `e` the two diagonals of T; `values`, ascending, and
    `vectors` the eigenpairs.
    """

    reflectors: Floats
    tau: Floats
    d: Floats
    e: Floats
    values: Floats
    vectors: Floats

    def turned(self, x: Floats, back: bool = False) -> Floats:
        """Return Qᵀx, or Qx on the way back."""
        out = x.copy()
        trans = "N" if back else "T"
        out[1:] = dormqr("L", trans, self.reflectors, self.tau, x[1:, None], 64)[0][:, 0]
        return out


def tridiagonal_form(B: Floats) -> TridiagonalForm | None:
    """Reduce B, a quarter of the work of its eigendecomposition; None if that would not do.

    It would not where the largest eigenvalue is many times multiple, or B is small.
    """
    n, few = len(B), 3
    if n < 8:
        return None
    A, d, e, tau, _ = dsytrd(B, lower=1, lwork=64 * n)
    try:
        values, vectors = eigh_tridiagonal(d, e, select="i", select_range=(n - few, n - 1))
    except np.linalg.LinAlgError:  # LAPACK does not count eigenvalues that are equal
        return None
    if not values[-1] - values[0] > 1e-10 * values[-1]:
        return None
    return TridiagonalForm(A[1:, : n - 1].copy(order="F"), tau, d, e, values, vectors)


def tridiagonal_root(form: TridiagonalForm, q: Floats, radius: float) -> tuple[SecularRoot, Floats]:
    """Solve (I − νB)c = q, ‖c‖ = R, for the smallest ν, B given by its tridiagonal form.

    Parameters
    ----------
    form : TridiagonalForm
        Of B, positive semidefinite.
    q : ndarray of shape (n,)
        Right-hand side.
    radius : float
        R > 0.

    Returns
    -------
    root : SecularRoot
        `coordinates` are c itself; `free` has no meaning.
    free : ndarray of shape (n,)
        The eigenvector whose sign is arbitrary in the hard case.
    """
    top = float(form.values[-1])
    pole = 1.0 / top
    first = form.vectors[:, 1.0 - form.values * pole <= _EQUAL]
    turned = form.turned(q)
    part = first.T @ turned
    rest = turned - first @ part
    length = float(np.linalg.norm(part))

    def solve(gap: float, rhs: Floats) -> Floats:
        off = -(pole - gap) * form.e
        x = dgtsv(off, 1.0 - (pole - gap) * form.d, off, rhs)[3]
        return x - first @ (first.T @ x)  # where I − νB is singular, rounding explodes

    if length <= _NOTHING * float(np.linalg.norm(q)):
        length, part = 0.0, np.zeros_like(part)
        c = solve(0.0, rest) if rest.any() else rest
        missing = radius**2 - float(c @ c)
        if missing >= 0.0:
            c = form.turned(c + np.sqrt(missing) * first[:, -1], back=True)
            free = form.turned(first[:, -1], back=True)
            return SecularRoot(0.0, pole, c, True, 0, 0), free
    gap = length / (radius * top)
    n_iter = 0
    for n_iter in range(1, _MAX_STEPS + 1):  # noqa: B007
        c = solve(gap, rest)
        size2 = float(c @ c) + ((length / (gap * top)) ** 2 if length else 0.0)
        w = solve(gap, c)
        slope = float(c @ _tridiagonal_product(form, w))
        slope += (length / (gap * top)) ** 2 / gap if length else 0.0
        move = size2 / slope * (np.sqrt(size2) / radius - 1.0) if slope > 0.0 else 0.0
        gap += move
        if move <= 1e-15 * gap:
            break
    c = solve(gap, rest) + (first @ part) / (gap * top)
    c = form.turned(c * (radius / float(np.linalg.norm(c))), back=True)
    return SecularRoot(gap, pole, c, False, 0, n_iter), first[:, -1]


def _tridiagonal_product(form: TridiagonalForm, x: Floats) -> Floats:
    out = form.d * x
    out[:-1] += form.e * x[1:]
    out[1:] += form.e * x[:-1]
    return out


# --- the problem as it is stated ------------------------------------------------------------------


@checked
def minimize_quadratic_on_sphere(
    S: Any,
    b: ArrayLike,
    radius: float,
    L: ArrayLike | None = None,
    d: ArrayLike | None = None,
    *,
    solver: str = "secular",
    tol: float = 1e-10,
    random_state: int = 0,
) -> SphereMinimum:
    """Minimise zᵀSz − 2bᵀz on ‖z‖ = R subject to Lᵀz = d, globally.

    Parameters
    ----------
    S : array-like of shape (n, n) or LinearOperator
        Symmetric, possibly indefinite. ``solver="cg"`` needs its products with vectors only.
    b : array-like of shape (n,)
        Linear term.
    radius : float
        R, positive.
    L : array-like of shape (n, m), default=None
        One column a linear constraint; columns must be linearly independent.
    d : array-like of shape (m,), default=None
        Their right-hand sides; zeros by default.
    solver : {"secular", "eigenvalue", "cg"}, default="secular"
        ``"secular"`` decomposes S and finds one root. ``"eigenvalue"`` takes µ as the smallest
        real eigenvalue of a matrix of twice the size: slower, not for the hard case, and kept
        as a check. ``"cg"`` is free of matrices: Lanczos for the smallest eigenvalue, conjugate
        gradients for each step.
    tol : float, default=1e-10
        Relative residual to which ``"cg"`` solves; the KKT residual above which (1000 times
        `tol`) a `ConvergenceWarning` is given.
    random_state : int, default=0
        Of the start vector of Lanczos.

    Returns
    -------
    SphereMinimum
        ``z``, ``multiplier``, ``objective``, ``hard_case``, ``residual``, ``n_iter``.

    References
    ----------
    .. [1] Forsythe and Golub (1965). On the stationary values of a second-degree polynomial on
       the unit sphere. Journal of SIAM 13.
    .. [2] Gander, Golub and von Matt (1989). A constrained eigenvalue problem. Linear Algebra
       and its Applications 114.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import minimize_quadratic_on_sphere
    >>> found = minimize_quadratic_on_sphere(np.diag([1.0, -2.0]), [1.0, 0.0], 1.0)
    >>> found.hard_case, np.abs(found.z).round(3).tolist()
    (True, [0.333, 0.943])
    """
    b = np.asarray(b, dtype=np.float64)
    dense = not isinstance(S, LinearOperator)
    if dense:
        S = np.asarray(S, dtype=np.float64)
    _check_problem(S, b, radius, solver, dense)
    if L is None:
        start, basis, room = np.zeros_like(b), None, radius
    else:
        start, basis = _eliminated(np.asarray(L, dtype=np.float64), d, len(b))
        room = _radius_left(float(radius), start)
        if room == 0.0 or basis.shape[1] == 0:
            return _finish(S, b, start, None, basis, False, 0, tol)
    operator = aslinearoperator(S)
    # Section 2.4.1: the problem in the coordinates that the constraints leave free.
    b_free = b - operator.matvec(start) if L is not None else b
    if solver == "cg":
        found = _by_conjugate_gradients(operator, b_free, basis, room, tol, random_state)
    else:
        S_free = S if basis is None else basis.T @ (S @ basis)
        inside = b_free if basis is None else basis.T @ b_free
        solve = _by_secular_equation if solver == "secular" else _by_eigenvalue
        found = solve((S_free + S_free.T) / 2.0, inside, room)
    zeta, hard, n_iter = found
    z = start + (zeta if basis is None or solver == "cg" else basis @ zeta)
    return _finish(S, b, z, start, basis, hard, n_iter, tol)


def _check_problem(S: Any, b: Floats, radius: float, solver: str, dense: bool) -> None:
    if solver not in ("secular", "eigenvalue", "cg"):
        raise ValueError(f"solver must be 'secular', 'eigenvalue' or 'cg', got {solver!r}.")
    if not dense and solver != "cg":
        raise ValueError(f"solver={solver!r} needs S as a matrix; a LinearOperator goes to 'cg'.")
    if b.ndim != 1 or S.shape != (len(b), len(b)):
        raise ValueError(f"S must be of shape (n, n) and b of (n,), got {S.shape} and {b.shape}.")
    if not radius > 0.0 or not np.isfinite(radius):
        raise ValueError(f"radius must be positive and finite, got {radius!r}.")
    if not np.isfinite(b).all() or (dense and not np.isfinite(S).all()):
        raise ValueError("S and b must be finite.")
    if dense and np.abs(S - S.T).max(initial=0.0) > 1e-8 * np.abs(S).max(initial=0.0):
        raise ValueError("S must be symmetric.")


def _eliminated(L: Floats, d: ArrayLike | None, n: int) -> tuple[Floats, Floats]:
    """Return the shortest z with Lᵀz = d, and an orthonormal basis of what stays free."""
    L = L[:, None] if L.ndim == 1 else L
    m = L.shape[1]
    if L.shape[0] != n or m > n:
        raise ValueError(f"L must have {n} rows and at most as many columns, got {L.shape}.")
    d = np.zeros(m) if d is None else np.atleast_1d(np.asarray(d, dtype=np.float64))
    if d.shape != (m,):
        raise ValueError(f"d must have one entry a column of L ({m}), got shape {d.shape}.")
    Q, R = qr(L)
    pivots = np.abs(np.diagonal(R))
    if pivots.size and pivots.min() <= 1e-12 * pivots.max():
        raise ValueError("The columns of L must be linearly independent.")
    zeta = solve_triangular(R[:m], d, trans="T")
    return Q[:, :m] @ zeta, Q[:, m:]


def _radius_left(radius: float, start: Floats) -> float:
    """Return √(R² − ‖ζ*‖²)."""
    least = float(np.linalg.norm(start))
    if least > radius * (1.0 + 1e-12):
        raise ValueError(
            f"No point of the sphere of radius {radius:.6g} satisfies the linear constraints: "
            f"the shortest vector that does has length {least:.6g}, the minimal radius."
        )
    return float(np.sqrt(max(radius**2 - least**2, 0.0)))


def _by_secular_equation(S: Floats, b: Floats, radius: float) -> tuple[Floats, bool, int]:
    sigma, U = np.linalg.eigh(S)
    root = secular_root(U.T @ b, sigma, np.ones_like(sigma), radius)
    return _signed(U @ root.coordinates, root, U), root.hard_case, root.n_iter


def _signed(z: Floats, root: SecularRoot, U: Floats) -> Floats:
    """In the hard case, take of the two minimisers the one whose largest entry is positive."""
    if root.hard_case and z[np.argmax(np.abs(z))] < 0.0:
        z = z - 2.0 * root.coordinates[root.free] * U[:, root.free]
    return z


def _by_eigenvalue(S: Floats, b: Floats, radius: float) -> tuple[Floats, bool, int]:
    """Return (S − µ)⁻¹b for the smallest real eigenvalue µ of the quadratic eigenproblem."""
    n = len(b)
    matrix = np.block([[S, -np.eye(n)], [-np.outer(b, b) / radius**2, S]])
    found = eigvals(matrix)
    scale = max(1.0, float(np.abs(found).max()))
    real = found.real[np.abs(found.imag) <= 1e-7 * scale]
    z = np.linalg.lstsq(S - real.min() * np.eye(n), b)[0]
    if abs(float(np.linalg.norm(z)) - radius) > 1e-5 * radius:
        raise ValueError(
            "The eigenvalue form has no answer in the hard case (b has no part in the eigenspace "
            "of the smallest eigenvalue); solver='secular' has."
        )
    return z, False, 1


def _by_conjugate_gradients(
    S: LinearOperator, b: Floats, basis: Floats | None, radius: float, tol: float, seed: int
) -> tuple[Floats, bool, int]:
    """Minimise with products alone; the linear constraints stay in force by projection."""

    def inside(x: Floats) -> Floats:
        return x if basis is None else basis @ (basis.T @ x)

    n = len(b)
    rng = np.random.default_rng(seed)
    if basis is None:
        project, size = S, n
        lift: Apply = lambda x: x  # noqa: E731
    else:
        size = basis.shape[1]
        project = LinearOperator((size, size), matvec=lambda x: basis.T @ S.matvec(basis @ x))
        lift = lambda x: basis @ x  # noqa: E731
    few = min(4, size - 1)
    if few < 1:
        sigma, U = np.array([float(project.matvec(np.ones(1))[0])]), np.ones((1, 1))
    else:
        sigma, U = eigsh(project, k=few, which="SA", v0=rng.standard_normal(size), tol=1e-12)
        order = np.argsort(sigma)
        sigma, U = sigma[order], U[:, order]
    root = iterative_root(
        project.matvec,
        lambda x: x,
        inside(b) if basis is None else basis.T @ b,
        radius,
        float(sigma[0]),
        U[:, sigma - sigma[0] <= 1e-9 * max(1.0, abs(float(sigma[0])))],
        tol,
    )
    z = lift(root.coordinates)
    if root.hard_case and z[np.argmax(np.abs(z))] < 0.0:
        u = lift(U[:, 0])
        z = z - 2.0 * float(u @ z) * u
    return z, root.hard_case, root.n_iter


def iterative_root(
    apply_delta: Apply,
    apply_e: Apply,
    n: Floats,
    radius: float,
    pole: float,
    eigenvectors: Floats,
    tol: float,
) -> SecularRoot:
    """Solve the secular equation of a pencil (Δ − νE)ζ = n with products and CG alone.

    Parameters
    ----------
    apply_delta, apply_e : callable
        x → Δx and x → Ex, symmetric, E positive semidefinite.
    n : ndarray of shape (m,)
        Right-hand side.
    radius : float
        The norm that ζ must have.
    pole : float
        The smallest ν at which Δ − νE is singular.
    eigenvectors : ndarray of shape (m, k)
        Orthonormal basis of the null space there.
    tol : float
        Relative residual of CG.

    Returns
    -------
    SecularRoot
        As `secular_root` gives it.
    """
    size, first = len(n), eigenvectors

    def solve(gap: float, rhs: Floats, guess: Floats) -> Floats:
        def matvec(x: Floats) -> Floats:
            return apply_delta(x) - (pole - gap) * apply_e(x)

        operator = LinearOperator((size, size), matvec=matvec, dtype=np.float64)
        found, _ = cg(operator, rhs, x0=guess, rtol=tol, atol=0.0, maxiter=20 * size + 100)
        return found

    part = first.T @ n
    stretch = float(first[:, 0] @ apply_e(first[:, 0]))
    length = float(np.linalg.norm(part))
    guess = np.zeros(size)
    if length <= max(1e-9, tol) * float(np.linalg.norm(n)):
        n = n - first @ part
        rest = solve(0.0, n, guess) if n.any() else guess
        rest = rest - first @ (first.T @ rest)
        missing = radius**2 - float(rest @ rest)
        if missing >= 0.0:
            return SecularRoot(0.0, pole, rest + np.sqrt(missing) * first[:, 0], True, 0, 0)
        length = 0.0
    gap = length / (radius * stretch)
    n_iter = 0
    for n_iter in range(1, _MAX_STEPS + 1):  # noqa: B007
        z = solve(gap, n, guess)
        size2 = float(z @ z)
        # Half the derivative of ‖z‖²: with z = (S − µ)⁻¹b it is zᵀ(S − µ)⁻¹z.
        slope = float(z @ solve(gap, apply_e(z), np.zeros(size)))
        move = size2 / slope * (np.sqrt(size2) / radius - 1.0)
        guess, gap = z, max(gap + move, 0.5 * gap)
        if abs(move) <= tol * gap:
            break
    z = solve(gap, n, guess)
    return SecularRoot(gap, pole, z * (radius / float(np.linalg.norm(z))), False, 0, n_iter)


def _finish(
    S: Any,
    b: Floats,
    z: Floats,
    start: Floats | None,
    basis: Floats | None,
    hard: bool,
    n_iter: int,
    tol: float,
) -> SphereMinimum:
    """Return the solution with its multiplier and KKT residual, measured on the problem itself."""
    Sz = S.matvec(z) if isinstance(S, LinearOperator) else S @ z
    gradient = Sz - b
    objective = float(z @ Sz - 2.0 * b @ z)
    if start is None:  # the constraints leave one point
        return SphereMinimum(z, np.nan, objective, False, 0.0, n_iter)
    zeta, inside = z - start, gradient
    if basis is not None:
        inside = basis @ (basis.T @ gradient)
    mu = float(zeta @ inside) / float(zeta @ zeta)
    # Sz may vanish at the minimum; what S makes of the other terms of z then sets the scale.
    magnitude = float(np.linalg.norm(S)) if isinstance(S, np.ndarray) else 0.0
    size = max(
        float(np.linalg.norm(Sz)), np.finfo(float).eps * magnitude * float(np.linalg.norm(z)) / tol
    )
    scale = size + float(np.linalg.norm(b)) or 1.0
    residual = float(np.linalg.norm(inside - mu * zeta)) / scale
    if residual > 1e3 * tol:
        warnings.warn(
            f"The relative KKT residual of the minimum on the sphere is {residual:.2e}; "
            f"{1e3 * tol:.0e} or less was expected.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return SphereMinimum(z, mu, objective, hard, residual, n_iter)
