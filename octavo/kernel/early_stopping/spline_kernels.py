"""Kernels of Sobolev spaces on the half line: functions with square-integrable derivatives.

k(x, x') = ∫₀^min(x,x') (x-u)^(m-1) (x'-u)^(m-1) du / ((m-1)!)² is the kernel of the functions whose
m-th derivative is square integrable and whose derivatives below the m-th vanish at zero. Order one
is min(x, x'), the kernel of the paper's simulations.

Reference: Raskutti, Wainwright and Yu (2014), Section 3.2.1; Wahba (1990), "Spline Models for
Observational Data", Chapter 1, for higher orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from numbers import Integral
from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.kernels.namespaces import namespace_of

__all__ = ["SobolevKernel", "sobolev_eigenvalues", "sobolev_kernel"]

_MOST = 10  # beyond, the powers of x in the kernel lose all digits


@dataclass(frozen=True)
class SobolevKernel:
    """A Sobolev kernel on [0, ∞): call it on two columns of numbers; see `sobolev_kernel`.

    Parameters
    ----------
    order : int, default=1
        m, how many derivatives the functions have.
    polynomials : bool, default=False
        Whether polynomials below that degree are added, so that nothing need vanish at zero.

    Examples
    --------
    >>> from octavo.kernel import SobolevKernel
    >>> SobolevKernel(1)([[0.2], [0.7]], [[0.5]]).tolist()
    [[0.2], [0.5]]
    """

    order: int = 1
    polynomials: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.order, Integral) and not isinstance(self.order, bool)
        if not whole or not 1 <= self.order <= _MOST:
            raise ValueError(f"order must be a whole number of 1 to {_MOST}, got {self.order!r}.")
        if not isinstance(self.polynomials, (bool, np.bool_)):
            raise ValueError(f"polynomials must be True or False, got {self.polynomials!r}.")

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return k(x, y) for every row of X and of Y, columns of numbers that are not negative.

        Parameters
        ----------
        X : array-like of shape (n, 1)
            Places.
        Y : array-like of shape (m, 1), default=None
            Places; those of X by default.

        Returns
        -------
        array of shape (n, m)
            Kernel values, in the namespace of X.
        """
        x, y = _places(X, "X"), _places(X if Y is None else Y, "Y")
        xp = namespace_of(x, y).xp
        low = xp.minimum(x[:, None], y[None, :])
        if self.order == 1:
            values = low
        else:
            m, apart = self.order, xp.abs(x[:, None] - y[None, :])
            # (s + r)^(m-1) expanded, s = min - u: ∫ s^(m-1) C r^(m-1-j) s^j
            values = sum(
                comb(m - 1, j) / (m + j) * apart ** (m - 1 - j) * low ** (m + j) for j in range(m)
            ) / float(factorial(m - 1) ** 2)
        if self.polynomials:
            product = x[:, None] * y[None, :]
            # polynomials that the derivatives at zero rule out
            values = values + sum(product**j / float(factorial(j) ** 2) for j in range(self.order))
        return values


def _places(X: Any, name: str) -> Any:
    """Return one column of numbers that are not negative."""
    if hasattr(X, "tocsr"):
        X = X.toarray()
    if isinstance(X, (list, tuple)) or namespace_of(X).is_numpy:
        X = real_array(X, name)
    if X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if X.ndim != 1:
        raise ValueError(
            f"A Sobolev kernel is for one column of numbers; {name} has shape {X.shape}."
        )
    lowest = float(namespace_of(X).xp.min(X)) if X.shape[0] else 0.0
    if lowest < 0.0:
        raise ValueError(
            f"A Sobolev kernel is for x >= 0, where its functions begin; the smallest of {name} is "
            f"{lowest:.3g}. Shift x to begin at zero; with polynomials=True (1 + min(x, x') for "
            "order 1) functions need not vanish there."
        )
    return X


@checked
def sobolev_kernel(order: int = 1, *, polynomials: bool = False) -> SobolevKernel:
    """Return the kernel of functions with `order` square-integrable derivatives.

    Parameters
    ----------
    order : int, default=1
        Derivatives, 1 to 10; order 1 is min(x, x').
    polynomials : bool, default=False
        Whether to add the kernel of polynomials below that degree; without it f and its
        derivatives below the `order`-th vanish at zero.

    Returns
    -------
    kernel : SobolevKernel
        A function of two columns, ``kernel=`` of any kernel machine of octavo and scikit-learn's
        `KernelRidge` alike. It can be pickled.

    Examples
    --------
    >>> from octavo.kernel import sobolev_kernel
    >>> sobolev_kernel(2)([[1.0]], [[1.0]]).tolist()  # the third of x cubed
    [[0.3333333333333333]]
    >>> sobolev_kernel(1, polynomials=True)([[0.2]], [[0.5]]).tolist()
    [[1.2]]
    """
    return SobolevKernel(order, polynomials)


@checked
def sobolev_eigenvalues(n_terms: int) -> np.ndarray:
    """Return the largest eigenvalues of min(x, x') under the uniform law on [0, 1].

    Parameters
    ----------
    n_terms : int
        How many, from the largest on.

    Returns
    -------
    eigs : ndarray of shape (n_terms,)
        1 / ((k - 1/2)² π²), for `population_radius` and bounds.

    Examples
    --------
    >>> from octavo.kernel import sobolev_eigenvalues
    >>> sobolev_eigenvalues(3).round(4).tolist()
    [0.4053, 0.045, 0.0162]
    """
    if not 1 <= n_terms <= 10**7 or n_terms != int(n_terms):
        raise ValueError(f"n_terms must be a whole number of 1 to 10,000,000, got {n_terms!r}.")
    return 1.0 / ((np.arange(1, n_terms + 1) - 0.5) * np.pi) ** 2  # of sin((k − ½)πx)
