"""Kernel matrices made comparable: centred, scaled to unit variance or to unit length, aligned.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Sections 3.5, 4.4.2 and 6.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.kernels.gram import check_symmetric

__all__ = ["center_kernel", "kernel_alignment", "normalize_kernel"]

HOW = ("multiplicative", "spherical", "trace")
_NO_VARIANCE = 1e-12  # of the mean diagonal: less is rounding


def as_stack(kernels: Any, *, square: bool = True) -> Floats:
    """Return kernel matrices as one array (n_kernels, n_rows, n_columns), checked.

    Parameters
    ----------
    kernels : array-like of shape (n_kernels, n_rows, n_columns) or list of matrices
        The kernels; a single matrix is taken as one of them.
    square : bool, default=True
        Whether rows and columns must be the same samples: square and symmetric.

    Returns
    -------
    ndarray of shape (n_kernels, n_rows, n_columns)
        The kernels.
    """
    if not isinstance(kernels, np.ndarray):
        matrices = [np.asarray(K, dtype=np.float64) for K in kernels]
        shapes = {K.shape for K in matrices}
        if len(shapes) > 1:
            raise ValueError(
                f"All kernels must have the same shape, got {[K.shape for K in matrices]}."
            )
        kernels = np.array(matrices)
    stack = np.asarray(kernels, dtype=np.float64)
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or 0 in stack.shape:
        raise ValueError(
            "Precomputed kernels must be an array of shape (n_kernels, n_samples, n_samples) or "
            f"a list of matrices, got shape {stack.shape}."
        )
    if square and stack.shape[1] != stack.shape[2]:
        raise ValueError(f"Kernels must be square, got shape {stack.shape[1:]}.")
    for m, K in enumerate(stack):
        if square:
            check_symmetric(K, f"Kernel {m}")
        elif not np.isfinite(K.sum()):
            raise ValueError(f"Kernel {m} contains NaN or infinity.")
    return stack


def feature_variance(diagonal: Floats, mean: float, name: str) -> float:
    """Return the variance of the samples in the kernel's feature space, 1 where there is none."""
    # (1/n) Σ k(x_i, x_i) - (1/n²) Σ k(x_i, x_j), Section 4.4.2
    variance = float(diagonal.mean()) - mean
    if variance > _NO_VARIANCE * max(float(np.abs(diagonal).mean()), abs(mean)):
        return variance
    warnings.warn(
        f"Kernel {name} has no variance on the training samples (it is {variance:.3g}): it cannot "
        "tell them apart, and is left as it is.",
        UserWarning,
        stacklevel=4,
    )
    return 1.0


def inverse_trace(diagonal: Floats, name: str) -> float:
    """Return what gives a kernel trace one on the training samples, 1 where it is zero there."""
    trace = float(diagonal.sum())
    if trace > 0.0 and np.isfinite(1.0 / trace):
        return 1.0 / trace
    warnings.warn(
        f"Kernel {name} has trace {trace:.3g} on the training samples: it cannot be given trace "
        "one, and is left as it is.",
        UserWarning,
        stacklevel=4,
    )
    return 1.0


def inverse_lengths(diagonal: Floats) -> Floats:
    """Return 1/√k(x, x), 0 for samples of length zero."""
    lengths = np.sqrt(np.maximum(diagonal, 0.0))
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)


@checked
def center_kernel(K: ArrayLike) -> Floats:
    """Return the kernel matrix of the samples with their mean in feature space removed.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples) or (n_kernels, n_samples, n_samples)
        One kernel matrix or several.

    Returns
    -------
    ndarray
        The centred matrices, in the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import center_kernel
    >>> center_kernel(np.outer([1.0, 3.0], [1.0, 3.0]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    stack = as_stack(K)
    means = stack.mean(axis=1)
    # <φ(x) - mean, φ(y) - mean>: rows and columns lose their mean, the mean of all returns.
    centred = stack - means[:, None, :] - means[:, :, None] + means.mean(axis=1)[:, None, None]
    return centred if np.ndim(K) == 3 else centred[0]


@checked
def normalize_kernel(K: ArrayLike, how: str = "multiplicative") -> Floats:
    """Scale kernel matrices so that their weights can be compared.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples) or (n_kernels, n_samples, n_samples)
        One kernel matrix or several.
    how : {"multiplicative", "spherical", "trace"}, default="multiplicative"
        ``"multiplicative"`` divides by the variance of the samples in feature space, which
        becomes one. ``"spherical"`` gives every sample length one (Eq. 23). ``"trace"`` divides
        by the trace: squared lengths sum to one, and entries shrink as samples are added.

    Returns
    -------
    ndarray
        The scaled matrices, in the same shape.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Section 4.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import normalize_kernel
    >>> K = np.array([[4.0, 2.0], [2.0, 9.0]])
    >>> normalize_kernel(K, "spherical").round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    >>> float(normalize_kernel(K)[0, 0])  # variance 6.5 - 4.25
    1.7777777777777777
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {HOW}, got {how!r}.")
    stack = as_stack(K)
    scaled = np.empty_like(stack)
    for m, matrix in enumerate(stack):
        diagonal = np.diagonal(matrix)
        if how == "multiplicative":
            scaled[m] = matrix / feature_variance(diagonal, float(matrix.mean()), str(m))
        elif how == "trace":
            scaled[m] = matrix * inverse_trace(diagonal, str(m))
        else:
            lengths = inverse_lengths(diagonal)
            scaled[m] = matrix * lengths[:, None] * lengths[None, :]  # Eq. (23)
    return scaled if np.ndim(K) == 3 else scaled[0]


@checked
def kernel_alignment(Ks: ArrayLike | Sequence[ArrayLike], *, center: bool = False) -> Floats:
    """Return the pairwise alignments <K_i, K_j> / (||K_i|| ||K_j||) of kernel matrices.

    Parameters
    ----------
    Ks : array-like of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    center : bool, default=False
        Whether to centre the matrices first. Without it, kernels with a large mean look alike.

    Returns
    -------
    ndarray of shape (n_kernels, n_kernels)
        Cosines between the matrices as vectors; positive semidefinite, non-negative for
        kernels that are.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Sections 3.5 and 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import kernel_alignment
    >>> float(kernel_alignment([np.eye(4), np.ones((4, 4))])[0, 1])
    0.5
    """
    stack = as_stack(Ks)
    if center:
        stack = center_kernel(stack)
    flat = stack.reshape(len(stack), -1)
    products = flat @ flat.T  # Frobenius products <K_i, K_j>, Section 3.5
    lengths = inverse_lengths(np.diagonal(products))
    return products * lengths[:, None] * lengths[None, :]
