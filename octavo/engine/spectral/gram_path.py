"""One spectral path per Gram matrix: every iterate of gradient descent, and every ridge, from it.

With K = Gram/n = U diag(λ) Uᵀ and z = Uᵀy, gradient descent on the least squares of a kernel
machine has the residual U S_t z after t steps of sizes α_s, where S_t = Π(1 - α_s λ), and the
coefficients U diag((1 - S_t)/(nλ)) z. One decomposition therefore answers for all t. Two kinds
are made here, and both are a `SpectralPath`:

- `whole_path`: all eigenvectors, good for any y;
- `krylov_path`: those of the Krylov space of one y, in which its iterates lie. After t steps the
  space holds the t-th iterate exactly; it converges long before, so that thousands of steps cost
  a few hundred products.

`top_spectrum` has the largest eigenvalues alone, with the trace and the sum of squares of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import row_chunks
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
from octavo.engine.spectral.block_lanczos import RitzPairs, block_lanczos

Steps = float | Floats  # one size for all times, or α_0, α_1, ...
_BLOCK = 8  # columns of a block of Lanczos: as dear as one while the matrix is read from memory
_SMALL = 200  # rows up to which all eigenvalues cost nothing
_LOG_OF_ZERO = -1e4  # exp of it is zero, and zero times it is zero: 0**0 = 1


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of Gram/n from the largest on, all or the top ones, and moments of all.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, at least 0.
    n : int
        Rows of the Gram matrix.
    trace, square : float
        Sum of all eigenvalues, and of their squares.
    vectors : array of shape (n, k) or None
        Eigenvectors as columns.
    lowest : float
        The smallest eigenvalue before negative ones were set to zero, where all are known.
    """

    values: Floats
    n: int
    trace: float
    square: float
    vectors: Any = None
    lowest: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether all eigenvalues are there."""
        return len(self.values) == self.n

    @property
    def rest(self) -> float:
        """The sum of the eigenvalues that are not listed."""
        return 0.0 if self.is_whole else max(self.trace - float(self.values.sum()), 0.0)

    @property
    def rest_square(self) -> float:
        """The sum of their squares; its root bounds each of them."""
        return 0.0 if self.is_whole else max(self.square - float(self.values @ self.values), 0.0)


@dataclass(frozen=True)
class SpectralPath:
    """Gradient descent and ridge regression on one y, at every time and penalty.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Eigenvalues of Gram/n that matter to y.
    vectors : array of shape (n, m)
        Eigenvectors, in the namespace of the Gram matrix.
    z : ndarray of shape (m,)
        Coordinates of y.
    """

    values: Floats
    vectors: Any
    z: Floats

    def coefficients(self, steps: Steps, t: int) -> Any:
        """Return c_t with f_t = Σ c_i k(., x_i), in the namespace of the vectors."""
        return self._combined(coefficient_factors(self.values, steps, t))

    def ridge_coefficients(self, nu: float) -> Any:
        """Return the coefficients of ridge regression with penalty 1/ν on Gram/n."""
        return self._combined(nu / (1.0 + nu * self.values))  # ν/(1 + νλ) z/n

    def residual_squares(self, steps: Steps, n_steps: int) -> Floats:
        """Return |y - f_t|² on the rows for t = 0 to `n_steps`."""
        return decayed_sums(self.values, steps, n_steps, self.z**2, power=2)

    def _combined(self, factors: Floats) -> Any:
        n = self.vectors.shape[0]
        inner = to_namespace(np.ascontiguousarray(factors * self.z / n), self.vectors)
        return self.vectors @ inner


def eta_at(steps: Steps, t: int) -> float:
    """Return the sum of the first t step sizes."""
    return float(steps) * t if np.ndim(steps) == 0 else float(np.sum(np.asarray(steps)[:t]))


def overshoots(reach: Floats) -> NDArray[np.bool_]:
    """Return where a step goes beyond the minimum of its coordinate: αλ clearly above 1."""
    return reach > 1.0 + 1e-9


def log_factor(reach: Floats) -> Floats:
    """Return log|1 - αλ|; a number far below -745 stands for log 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.log1p(-np.minimum(reach, 1.0))
        far = overshoots(reach)
        one = np.where(far, np.log(np.where(far, reach - 1.0, 1.0)), short)
    return np.maximum(one, _LOG_OF_ZERO)


def log_residual(values: Floats, steps: Steps, t: int) -> Floats:
    """Return log|S_t| = Σ_{s<t} log|1 - α_s λ|; a number far below -745 stands for log 0."""
    if np.ndim(steps) == 0:
        return t * log_factor(float(steps) * values)
    total = np.zeros_like(values)
    sizes, counts = np.unique(np.asarray(steps)[:t], return_counts=True)  # order is no matter
    for chunk in row_chunks(len(sizes), len(values), megabytes=16.0):
        total += counts[chunk] @ log_factor(sizes[chunk, None] * values)
    return total


def turns(values: Floats, steps: Steps, t: int) -> Floats:
    """Return the sign of S_t: it changes with each step that overshoots, αλ > 1."""
    top = float(values.max()) if len(values) else 0.0
    if not np.any(overshoots(np.asarray(steps) * top)):
        return np.ones_like(values)
    if np.ndim(steps) == 0:
        count = t * overshoots(float(steps) * values)
    else:
        count = np.zeros(len(values), dtype=np.int64)
        for step in np.asarray(steps)[:t]:
            count += overshoots(step * values)
    return np.asarray(1.0 - 2.0 * (count % 2), dtype=np.float64)


def residual_factors(values: Floats, steps: Steps, t: int) -> Floats:
    """Return S_t, what is left of every coordinate of y after t steps."""
    return turns(values, steps, t) * np.exp(log_residual(values, steps, t))


def one_less(logs: Floats, signs: Floats) -> Floats:
    # S near one would cancel
    """Return 1 - S to full relative precision, from log|S| and the sign of S."""
    return np.where(signs > 0.0, -np.expm1(logs), 1.0 + np.exp(logs))


def fitted_factors(values: Floats, steps: Steps, t: int) -> Floats:
    """Return 1 - S_t to full relative precision."""
    return one_less(log_residual(values, steps, t), turns(values, steps, t))


def coefficient_factors(values: Floats, steps: Steps, t: int) -> Floats:
    """Return (1 - S_t)/λ; its limit η_t where λ is zero."""
    fitted, eta = fitted_factors(values, steps, t), eta_at(steps, t)
    positive = values * eta > 1e-300
    return np.where(positive, fitted / np.where(positive, values, 1.0), eta)


def decayed_sums(
    values: Floats, steps: Steps, n_steps: int, weights: Floats, *, power: int = 1
) -> Floats:
    """Return Σ_i S_t,i**power w_i for t = 0 to `n_steps`.

    With one step size S_{a+b} = S_a S_b, so that all times are one matrix product of about
    √n_steps rows by as many columns.
    """
    if np.ndim(steps) == 0:
        side = max(1, int(np.sqrt(n_steps + 1)))
        log_one = power * log_residual(values, steps, 1)
        sign = turns(values, steps, 1) ** power
        # S_a, then S_b for multiples of `side`
        times, strides = np.arange(side)[:, None], np.arange(0, n_steps + 1, side)[:, None]
        near = np.exp(times * log_one)
        far = np.exp(strides * log_one)
        if (sign < 0.0).any():
            near *= sign ** (times % 2)
            far *= sign ** (strides % 2)
        return ((far * weights) @ near.T).ravel()[: n_steps + 1]
    sums = np.empty(n_steps + 1)
    left = np.array(weights, dtype=np.float64)
    sums[0] = left.sum()
    for t, step in enumerate(np.asarray(steps)[:n_steps]):
        reach = step * values
        left = (
            left * np.where(overshoots(reach), 1.0 - reach, np.maximum(1.0 - reach, 0.0)) ** power
        )
        sums[t + 1] = left.sum()
    return sums


def fitted_squares(values: Floats, steps: Steps, n_steps: int) -> Floats:
    """Return Σ_i (1 - S_t,i)² for t = 0 to `n_steps`, small sums to full precision too."""
    sums, reached = np.empty(n_steps + 1), np.zeros_like(values)
    sizes = np.broadcast_to(np.asarray(steps, dtype=np.float64), (n_steps,) if np.ndim(steps) == 0
                            else np.shape(steps))[:n_steps]  # fmt: skip
    sums[0] = 0.0
    turned = np.ones_like(values)
    for times in row_chunks(n_steps, len(values), megabytes=16.0):
        reach = sizes[times, None] * values
        logs = reached + np.cumsum(log_factor(reach), axis=0)
        signs = turned * np.cumprod(np.where(overshoots(reach), -1.0, 1.0), axis=0)
        sums[1:][times] = (one_less(logs, signs) ** 2).sum(axis=1)
        reached, turned = logs[-1], signs[-1]
    return sums


def factor_rows(values: Floats, steps: Steps, times: Any) -> Floats:
    """Return (1 - S_t)/λ with a row for each of the increasing times."""
    if np.ndim(steps) == 0:
        count = np.asarray(times)[:, None]
        signs = turns(values, steps, 1) ** (count % 2)
        rows = one_less(count * log_residual(values, steps, 1), signs)
        etas = float(steps) * np.asarray(times, dtype=np.float64)[:, None]
        positive = values * etas > 1e-300
        return np.where(positive, rows / np.where(values > 0.0, values, 1.0), etas)
    return np.vstack([coefficient_factors(values, steps, t) for t in times])


# --- decompositions ------------------------------------------------------------------------------


def gram_moments(K: Any) -> tuple[float, float]:
    """Return the trace and the squared Frobenius norm of Gram/n."""
    xp, _, is_numpy = namespace_of(K)
    n = K.shape[0]
    diagonal = np.diagonal(K) if is_numpy else xp.linalg.diagonal(K)
    square = 0.0
    for rows in row_chunks(n, n, megabytes=32.0):
        part = K[rows, :]
        square += float(xp.sum(part * part))
    return float(xp.sum(diagonal)) / n, square / n**2  # traces of Gram/n and of its square


def whole_spectrum(K: Any) -> Spectrum:
    """Return all eigenvalues and eigenvectors of Gram/n, by one decomposition.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix, of any namespace.

    Returns
    -------
    Spectrum
        Negative eigenvalues, which rounding makes, are zero in it.
    """
    xp = namespace_of(K).xp
    n = K.shape[0]
    values, vectors = xp.linalg.eigh(K)
    raw = to_numpy(values).astype(np.float64)[::-1] / n
    host = np.maximum(raw, 0.0)
    vectors = xp.flip(vectors, axis=1)
    return Spectrum(host, n, float(host.sum()), float(host @ host), vectors, float(raw[-1]))


def all_eigenvalues(K: Any) -> Spectrum:
    """Return all eigenvalues of Gram/n without vectors, in less than half of the time."""
    n = K.shape[0]
    raw = to_numpy(namespace_of(K).xp.linalg.eigvalsh(K)).astype(np.float64)[::-1] / n
    host = np.maximum(raw, 0.0)
    return Spectrum(host, n, float(host.sum()), float(host @ host), None, float(raw[-1]))


def whole_path(spectrum: Spectrum, y: Any) -> SpectralPath:
    """Return the path of y from all eigenvectors."""
    z = to_numpy(spectrum.vectors.T @ y).astype(np.float64)
    return SpectralPath(spectrum.values, spectrum.vectors, z)


def top_spectrum(
    K: Any,
    enough: Callable[[Spectrum], bool],
    *,
    tol: float = 1e-9,
    max_columns: int = 600,
    moments: tuple[float, float] | None = None,
) -> Spectrum:
    """Return the largest eigenvalues of Gram/n, as many as somebody needs.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix, of any namespace.
    enough : callable
        Is shown a `Spectrum` whose eigenvalues have converged, and says whether these do. It is
        also asked to be content with all of them.
    tol : float, default=1e-9
        An eigenvalue has converged when its residual is at most a tenth of the root of this
        part of the largest, and a hundredth of itself: its error is of the order of the
        residual's square.
    max_columns : int, default=600
        Dimension of the Krylov space at which the search ends, enough or not.
    moments : tuple of float, default=None
        Trace and sum of squares where they are known or nobody asks; computed by default.

    Returns
    -------
    Spectrum
        With eigenvectors. Eigenvalues of a multiplicity above eight may be listed fewer times.
        The first block is random and always the same.
    """
    n = K.shape[0]
    if n <= _SMALL:
        return whole_spectrum(K)
    trace, square = gram_moments(K) if moments is None else moments
    start = to_namespace(np.random.RandomState(0).standard_normal((n, _BLOCK)), K)
    floor = float(namespace_of(K).xp.finfo(K.dtype).eps) * n**0.5
    tol = max(tol, floor)

    def converged(found: RitzPairs) -> int:
        # |θ - λ| <= r, and r²/gap for eigenvalues apart from the rest; small ones to a part of
        # themselves, for the sums of ridge regression weigh them against its penalty
        top = max(found.values[0], 0.0)
        allowed = np.clip(0.01 * found.values, floor * top, np.sqrt(tol) * top * 0.1)
        small = found.residuals <= allowed
        return int(np.argmin(small)) if not small.all() else len(small)

    def seen(found: RitzPairs) -> Spectrum:
        values = np.maximum(found.values[: converged(found)] / n, 0.0)
        return Spectrum(values, n, trace, square)

    last = block_lanczos(
        lambda block: K @ block,
        start,
        lambda found: converged(found) > 0 and enough(seen(found)),
        max_columns=min(n, max_columns),
        first_look=4,
    )
    count = max(converged(last), 1)
    values = np.maximum(last.values[:count] / n, 0.0)
    return Spectrum(values, n, trace, square, last.vectors(count))


def at_least(count: int) -> Callable[[Spectrum], bool]:
    """Return a question for `top_spectrum`: are there `count` eigenvalues?"""
    return lambda found: len(found.values) >= count


def krylov_path(
    K: Any, y: Any, steps: Steps, n_steps: int, *, tol: float = 1e-13, max_columns: int = 1000
) -> SpectralPath:
    """Return the path of y from its Krylov space, for times up to `n_steps`.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix, of any namespace.
    y : array of shape (n,)
        Target.
    steps : float or ndarray
        Step sizes.
    n_steps : int
        The last time that will be asked for.
    tol : float, default=1e-13
        The space is large enough when its last direction has less than this part of the
        coefficients at the last time and at a tenth of it.
    max_columns : int, default=1000
        The largest dimension.

    Returns
    -------
    SpectralPath
        Of as many columns as were needed, at most `n_steps` + 1.
    """
    xp, device, _ = namespace_of(K)
    n = K.shape[0]
    if not float(xp.sum(y * y)) > 0.0 or n_steps == 0:
        return SpectralPath(
            np.zeros(1), xp.zeros((n, 1), dtype=K.dtype, device=device), np.zeros(1)
        )
    tol = max(tol, float(xp.finfo(K.dtype).eps))

    def finished(found: RitzPairs) -> bool:
        values = np.maximum(found.values / n, 0.0)
        for t in {n_steps, -(-n_steps // 10)}:
            inner = found.inner @ (coefficient_factors(values, steps, t) * found.weights[:, 0])
            if abs(inner[-1]) > tol * np.abs(inner).max():
                return False
        return True

    found = block_lanczos(
        lambda block: K @ block,
        y[:, None],
        finished,
        max_columns=min(n, n_steps + 1, max_columns),
        first_look=5,
    )
    values = np.maximum(found.values / n, 0.0)
    return SpectralPath(values, found.vectors(), found.weights[:, 0])
