"""Kernel values: one block at a time, on any array namespace, and columns with a cache.

A `Kernel` is a kernel whose parameters are numbers: `resolve_kernel` makes it from what a user
wrote (``gamma="scale"``). `Kernel.block` gives k(X, Y) for dense arrays of every array-API
namespace and for CSR matrices. Nothing here forms an n × n matrix unless it is asked to:
`row_chunks` cuts the rows so that a block fits in a given memory, and `GramColumns` computes
columns of the Gram matrix when they are needed and keeps those that were used last.

The squared distances of a block are one matrix product. With a = (2γx, −γ|x|², −1) and
b = (y, 1, γ|y|²), a·b = −γ|x − y|², so that no second pass adds the norms; both sides are
centred first, which costs a pass over the data and saves the digits that a common offset
would take.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.metrics.pairwise import cosine_similarity, pairwise_kernels
from sklearn.utils.extmath import safe_sparse_dot

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.kernels.namespaces import namespace_of

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed")
# Which of its parameters a kernel of that name looks at; every name that can be computed is here.
KERNEL_PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "laplacian": ("gamma",),
    "cosine": (),
    "chi2": ("gamma",),
    "additive_chi2": (),
    "precomputed": (),
}
ALIASES = {"polynomial": "poly"}  # scikit-learn has both names for one kernel
Gamma = float | str | None
SKEW = 1e-8  # asymmetry, relative to the largest entry, that counts as rounding


@dataclass(frozen=True)
class Kernel:
    """A kernel with every parameter a number.

    Attributes
    ----------
    name : str
        A key of `KERNEL_PARAMETERS`, or ``"callable"``; an alias becomes the name that it stands
        for.
    gamma : float
        Scale of ``rbf``, ``laplacian``, ``chi2``, ``poly`` and ``sigmoid``.
    degree, coef0 : float
        Exponent and offset of ``poly``; offset of ``sigmoid``.
    function : callable
        For ``"callable"``: f(X, Y, **params) returns the block.
    params : dict
        Further parameters of a callable.

    Raises
    ------
    ValueError
        If nothing is known by that name, or if a parameter is no finite number.
    """

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0
    function: Callable[..., Any] | None = None
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.function is not None:
            return
        object.__setattr__(self, "name", kernel_name(self.name))
        for parameter in KERNEL_PARAMETERS[self.name]:
            value = getattr(self, parameter)
            if not np.isfinite(value):
                raise ValueError(
                    f"{parameter} of the kernel {self.name!r} must be finite, got {value}."
                )
        if self.params:
            raise ValueError(
                f"Further parameters are for a callable kernel; {self.name!r} takes "
                f"{_listed(KERNEL_PARAMETERS[self.name])}, got {sorted(self.params)}."
            )

    def block(self, X: Any, Y: Any) -> Any:
        """Return k(x, y) for every row x of X and y of Y, in their namespace.

        A value that is no finite number is refused: whatever is computed from it would be NaN.
        """
        return self._finite(self._block(X, Y))

    def _block(self, X: Any, Y: Any) -> Any:
        if self.name == "precomputed":
            raise TypeError(
                "A precomputed kernel has no rows to compare: take the block by its indices."
            )
        if self.name == "rbf":
            return _exp(_scaled_distances(X, Y, self.gamma))
        if self.name in ("linear", "poly", "sigmoid"):
            return self._of_products(_products(X, Y))
        if self.name == "cosine" and namespace_of(X, Y).is_numpy:
            return cosine_similarity(X, Y)
        if self.name == "cosine":
            return _products(_unit_rows(X), _unit_rows(Y))
        if self.function is not None:
            return self._of_pairs(self.function(X, Y, **self.params), X, Y)
        # what is left, laplacian and the two chi2, is scikit-learn's
        own = {name: getattr(self, name) for name in KERNEL_PARAMETERS[self.name]}
        return pairwise_kernels(X, Y, metric=self.name, **own)

    def against(self, X: Any, vectors: Any, indices: Any) -> Any:
        """Return k(X, vectors), or for a precomputed kernel the columns `indices` of X."""
        if self.name == "precomputed":
            return X[:, indices]
        return self.block(X, vectors)

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) for every row; the diagonal of X for a precomputed kernel."""
        return self._finite(self._diagonal(X))

    def _diagonal(self, X: Any) -> Any:
        xp, device, is_numpy = namespace_of(X)
        if self.name == "precomputed":
            return np.diagonal(X).copy() if is_numpy else xp.linalg.diagonal(X)
        if self.name in ("rbf", "laplacian"):
            return xp.ones(X.shape[0], dtype=X.dtype, device=device)
        if self.name in ("linear", "poly", "sigmoid"):
            return self._of_products(_squared_norms(X))
        if self.name == "cosine":
            norms = _squared_norms(X)
            return xp.astype(norms > 0.0, norms.dtype)
        ends = [self.block(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])]
        return np.asarray(ends, dtype=np.float64)

    def squared_distances(self, X: Any, Y: Any) -> Any:
        """Return the squared distances of the images, k(x,x) + k(y,y) − 2k(x,y), at least 0."""
        xp = namespace_of(X, Y).xp
        apart = self.diagonal(X)[:, None] + self.diagonal(Y)[None, :] - 2.0 * self.block(X, Y)
        return xp.clip(apart, min=0.0)

    def _of_pairs(self, values: Any, X: Any, Y: Any) -> Any:
        """Return what a function gave; refuse what is not a number for each pair of rows."""
        if tuple(np.shape(values)) == (X.shape[0], Y.shape[0]):
            return values
        raise ValueError(
            "A kernel function must return an array with a number for each pair of rows, here of "
            f"shape {(X.shape[0], Y.shape[0])}, got shape {tuple(np.shape(values))}."
        )

    def _finite(self, values: Any) -> Any:
        """Return the values; refuse NaN and infinity, which a finite sum cannot hold."""
        if sp.issparse(values):
            stored, xp = values.data, np
        else:
            stored, xp = values, namespace_of(values).xp
        if np.isfinite(float(xp.sum(stored))) or bool(xp.all(xp.isfinite(stored))):
            return values
        raise ValueError(
            f"The kernel {self.name!r} gives NaN or infinity on these rows; are they too large "
            "for it? Scale them."
        )

    def _of_products(self, products: Any) -> Any:
        """Return the kernel that is a function of x·y."""
        if self.name == "linear":
            return products
        inner = self.gamma * products + self.coef0
        return inner**self.degree if self.name == "poly" else namespace_of(inner).xp.tanh(inner)


def kernel_name(name: Any) -> str:
    """Return the name under which a kernel is computed; refuse one that nobody knows."""
    found = ALIASES.get(name, name) if isinstance(name, str) else None
    if found not in KERNEL_PARAMETERS:
        known = ", ".join(repr(known) for known in sorted([*KERNEL_PARAMETERS, *ALIASES]))
        raise ValueError(f"kernel must be one of {known}, or a function of (X, Y); got {name!r}.")
    return found


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) or "no parameter"


def resolve_kernel(
    kernel: str | Callable[..., Any],
    X: Any,
    *,
    gamma: Gamma = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    params: dict[str, Any] | None = None,
) -> Kernel:
    """Return the kernel with its parameters settled on the training rows.

    Parameters
    ----------
    kernel : str or callable
        A key of `KERNEL_PARAMETERS`, an alias of one, or f(X, Y) → block.
    X : {array, CSR matrix} of shape (n_samples, n_features)
        The training rows, which ``gamma="scale"`` looks at.
    gamma : {"scale", "auto"} or float, default="scale"
        ``"scale"`` is 1 / (n_features · variance of X) as in `sklearn.svm.SVC`; ``"auto"`` and
        None are 1 / n_features.
    degree, coef0 : float
        Exponent and offset of ``poly``; offset of ``sigmoid``.
    params : dict, default=None
        Further parameters of a callable.

    Returns
    -------
    Kernel
        The kernel, ready to compute.
    """
    if callable(kernel):
        return Kernel("callable", function=kernel, params=dict(params or {}))
    name = kernel_name(kernel)
    # what "scale" means costs a pass over rows, and kernels without gamma have no use for it
    settled = settle_gamma(gamma, X) if "gamma" in KERNEL_PARAMETERS[name] else 1.0
    return Kernel(name, settled, degree, coef0, params=dict(params or {}))


def settle_gamma(gamma: Gamma, X: Any) -> float:
    """Return γ as a number: what ``"scale"``, ``"auto"`` or None mean on these rows."""
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        return 1.0 / X.shape[1]
    if isinstance(gamma, Real):
        return float(gamma)
    if gamma != "scale":
        raise ValueError(f"gamma must be 'scale', 'auto', None or a number, got {gamma!r}.")
    with np.errstate(over="ignore", invalid="ignore"):  # the sentence below says it
        if sp.issparse(X):
            variance = float(X.multiply(X).mean() - X.mean() ** 2)
        else:
            variance = float(namespace_of(X).xp.var(X))
    if variance <= 0.0:
        return 1.0
    settled = 1.0 / (X.shape[1] * variance)
    if not 0.0 < settled < np.inf:
        raise ValueError(
            "gamma='scale' divides by the variance of X, which is beyond what floating point can "
            f"hold: {variance:.3g}. Scale X, or give gamma as a number."
        )
    return settled


HOST_MEGABYTES, DEVICE_MEGABYTES = 64.0, 1024.0


def row_chunks(
    n_rows: int, n_columns: int, *, megabytes: float = HOST_MEGABYTES
) -> Iterator[slice]:
    """Cut the rows so that a float64 block of `n_columns` takes at most that many megabytes."""
    step = max(1, int(megabytes * 2**20 / (8 * max(1, n_columns))))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def block_megabytes(X: Any) -> float:
    """Return how large a block of rows should be where X lives.

    On the host it should not crowd out what else is in memory; an accelerator wants work for
    milliseconds between two launches.
    """
    on_host = sp.issparse(X) or namespace_of(X).is_numpy
    return HOST_MEGABYTES if on_host else DEVICE_MEGABYTES


class GramColumns:
    """Columns of the Gram matrix of the rows of X, computed when needed, the last used kept.

    Parameters
    ----------
    kernel : Kernel
        What compares two rows; with ``"precomputed"``, X is the Gram matrix itself.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows.
    megabytes : float, default=200
        Memory that the kept columns may take.

    Attributes
    ----------
    diagonal : ndarray of shape (n_samples,)
        k(x_i, x_i).
    n_computed, n_found : int
        How many columns were computed, and how many were found in the cache.
    """

    def __init__(self, kernel: Kernel, X: Any, *, megabytes: float = 200.0) -> None:
        self.kernel = kernel
        self.X = X
        n = X.shape[0]
        self.shape = (n, n)
        self.diagonal = np.asarray(kernel.diagonal(X), dtype=np.float64)
        self.capacity = int(min(n, max(2, megabytes * 2**20 / (8 * n))))
        self.n_computed = self.n_found = 0
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()

    def column(self, i: int) -> np.ndarray:
        """Return k(·, x_i)."""
        i = int(i)
        if i in self._kept:
            self.n_found += 1
            self._kept.move_to_end(i)
            return self._kept[i]
        column = self._compute(slice(i, i + 1))[:, 0]
        self.n_computed += 1
        if len(self._kept) >= self.capacity:
            self._kept.popitem(last=False)
        self._kept[i] = column
        return column

    def columns(self, indices: Any) -> np.ndarray:
        """Return k(·, x_i) for several i, shape (n_samples, len(indices)); not kept."""
        return self._compute(np.asarray(indices, dtype=np.intp))

    def matrix(self) -> np.ndarray:
        """Return the whole Gram matrix: the one call that takes n² numbers."""
        return self._compute(slice(None))

    def _compute(self, which: Any) -> np.ndarray:
        if self.kernel.name == "precomputed":
            return np.ascontiguousarray(self.X[:, which], dtype=np.float64)
        return np.asarray(self.kernel.block(self.X, self.X[which]), dtype=np.float64)


def check_gram(K: Any, *, definite: bool = True, name: str = "The precomputed kernel") -> None:
    """Refuse a matrix that is no Gram matrix; warn of one that is indefinite.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        What the user gave as k(X, X).
    definite : bool, default=True
        Whether to look at the smallest eigenvalue and warn when it is negative beyond rounding.
    name : str, default="The precomputed kernel"
        What the message calls it.

    Raises
    ------
    ValueError
        If the matrix is not square, not finite or not symmetric, or if its diagonal is negative
        somewhere.
    """
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be square, one row and column per sample; got {K.shape}.")
    check_symmetric(K, name)
    lowest = float(np.diagonal(K).min(initial=0.0))
    if lowest < 0.0:
        raise ValueError(f"{name} must have a non-negative diagonal; its minimum is {lowest:.3g}.")
    if definite and len(K):
        bottom = _smallest_eigenvalue(K)
        if bottom < -SKEW * _largest_magnitude(K) * len(K):
            warnings.warn(
                f"{name} is indefinite: its smallest eigenvalue is {bottom:.3g}. The problem is "
                "then not convex and the result may depend on where the solver starts.",
                UserWarning,
                stacklevel=3,
            )


def check_symmetric(K: np.ndarray, name: str) -> None:
    """Refuse a square matrix that is not finite, or not symmetric beyond rounding.

    One pass computes Kr and Kᵀr for a vector r of numbers between 1 and 2. An entry that differs
    from its mirror image by δ moves the two apart by at least δ, unless others cancel it exactly.
    Only if they are apart are all pairs compared.
    """
    K = np.ascontiguousarray(K, dtype=np.float64)
    r = 1.0 + np.random.default_rng(0).uniform(size=len(K))
    ahead, across = np.empty(len(K)), np.zeros(len(K))
    length = float(np.sqrt(_both_products(K, r, ahead, across)))  # of K as a vector
    if not np.isfinite(length) and not np.isfinite(K).all():  # squares may overflow
        raise ValueError(f"{name} contains NaN or infinity.")
    apart, rounding = np.abs(ahead - across).max(initial=0.0), 0.5 * SKEW * length / max(1, len(K))
    if np.isfinite(length) and apart <= rounding:  # the largest entry is length / n or more
        return
    skew, scale = float(_largest_skew(K)), _largest_magnitude(K)
    if skew > SKEW * scale:
        raise ValueError(
            f"{name} must be symmetric; K and its transpose differ by up to {skew:.3g}, and the "
            f"largest entry is {scale:.3g}. If a small error made it so, pass (K + K.T) / 2."
        )


def _largest_magnitude(K: np.ndarray) -> float:
    """Return the largest |K_ij| without a copy."""
    return float(max(K.max(initial=0.0), -K.min(initial=0.0)))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _both_products(K, r, ahead, across):
    """Write Kr, add Kᵀr and return Σ K_ij², in one pass.

    Four rows at a time, so that the sums of the columns are read and written a quarter as often:
    what is left is the time that memory takes.
    """
    n, squares = K.shape[0], 0.0
    for top in range(0, n - n % 4, 4):
        a, b, c, d = K[top], K[top + 1], K[top + 2], K[top + 3]
        ra, rb, rc, rd = r[top], r[top + 1], r[top + 2], r[top + 3]
        pa = pb = pc = pd = 0.0
        for j in range(n):
            va, vb, vc, vd, here = a[j], b[j], c[j], d[j], r[j]
            pa += va * here
            pb += vb * here
            pc += vc * here
            pd += vd * here
            across[j] += (va * ra + vb * rb) + (vc * rc + vd * rd)
            squares += (va * va + vb * vb) + (vc * vc + vd * vd)
        ahead[top], ahead[top + 1], ahead[top + 2], ahead[top + 3] = pa, pb, pc, pd
    for i in range(n - n % 4, n):
        product, here = 0.0, r[i]
        for j in range(n):
            value = K[i, j]
            product += value * r[j]
            across[j] += value * here
            squares += value * value
        ahead[i] = product
    return squares


@njit(cache=True, nogil=True)
def _largest_skew(K):
    """Return the largest |K_ij - K_ji|, by tiles, so that the transpose is read by the line."""
    n, skew = K.shape[0], 0.0
    for top in range(0, n, 32):
        for left in range(0, top + 1, 32):
            for i in range(top, min(top + 32, n)):
                for j in range(left, min(left + 32, i)):
                    skew = max(skew, abs(K[i, j] - K[j, i]))
    return skew


def _smallest_eigenvalue(K: np.ndarray) -> float:
    """Return the smallest eigenvalue; for large matrices by Lanczos to two digits."""
    if len(K) <= 500:
        return float(np.linalg.eigvalsh(K)[0])
    try:
        start = np.random.default_rng(0).standard_normal(len(K))
        return float(eigsh(K, k=1, which="SA", tol=1e-2, v0=start, maxiter=100)[0][0])
    except ArpackNoConvergence as error:  # the best that was seen bounds it from above
        return float(error.eigenvalues[0]) if len(error.eigenvalues) else 0.0


def squared_distances(X: Any, Y: Any) -> Any:
    """Return |x - y|² for every row x of X and y of Y, in their namespace, at least 0.

    Exactly 0 on the diagonal when Y is X. X and Y may be dense or CSR.
    """
    return -_scaled_distances(X, Y, 1.0)


def _products(X: Any, Y: Any) -> Any:
    """Return X Yᵀ, dense."""
    if namespace_of(X, Y).is_numpy:
        return safe_sparse_dot(X, Y.T, dense_output=True)
    return X @ Y.T


def _squared_norms(X: Any) -> Any:
    """Return |x|² for every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    xp, _, is_numpy = namespace_of(X)
    return np.einsum("ij,ij->i", X, X) if is_numpy else xp.sum(X * X, axis=1)


def _unit_rows(X: Any) -> Any:
    """Return the rows with norm one; rows of zeros stay."""
    xp = namespace_of(X).xp
    norms = xp.sqrt(_squared_norms(X))
    return X / xp.where(norms > 0.0, norms, xp.ones_like(norms))[:, None]


def _scaled_distances(X: Any, Y: Any, gamma: float) -> Any:
    """Return −γ|x − y|², at most 0; exactly 0 on the diagonal when Y is X."""
    if sp.issparse(X) or sp.issparse(Y):
        scaled = safe_sparse_dot(X, Y.T, dense_output=True)
        scaled *= 2.0 * gamma
        scaled -= gamma * _squared_norms(X)[:, None]
        scaled -= gamma * _squared_norms(Y)[None, :]
    else:
        scaled = _augmented_product(X, Y, gamma)
    xp, device, is_numpy = namespace_of(scaled)
    if is_numpy:
        np.minimum(scaled, 0.0, out=scaled)
        if X is Y:
            np.fill_diagonal(scaled, 0.0)
        return scaled
    scaled = xp.clip(scaled, max=0.0)
    if X is Y:
        scaled = scaled * (1.0 - xp.eye(X.shape[0], dtype=scaled.dtype, device=device))
    return scaled


def _augmented_product(X: Any, Y: Any, gamma: float) -> Any:
    """Return −γ|x − y|² as one matrix product of the centred rows with their norms appended."""
    xp, device, _ = namespace_of(X, Y)
    middle = xp.mean(Y, axis=0)
    X, Y = X - middle, Y - middle
    ones = [xp.ones((A.shape[0], 1), dtype=A.dtype, device=device) for A in (X, Y)]
    # −γ|x|² + 2γ x·y − γ|y|² in one product
    left = xp.concat([2.0 * gamma * X, -gamma * _squared_norms(X)[:, None], -ones[0]], axis=1)
    right = xp.concat([Y, ones[1], gamma * _squared_norms(Y)[:, None]], axis=1)
    return left @ right.T


def _exp(A: Any) -> Any:
    """Return the exponential, in place for NumPy."""
    xp, _, is_numpy = namespace_of(A)
    return np.exp(A, out=A) if is_numpy else xp.exp(A)


def _warmup() -> None:
    check_symmetric(np.eye(2), "K")
    _largest_skew(np.eye(2))
