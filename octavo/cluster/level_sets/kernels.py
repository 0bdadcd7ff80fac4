"""Similarities that end at a distance: functions of distance / h, one at zero, zero from one on.

Assumption 2 of Pelletier and Pudlo (2011) asks for two continuous derivatives, the unit ball as
support, and a positive lower bound on half of it.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from octavo._names import UnknownNameError
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["compact_kernel"]


def _triweight(u: Floats) -> Floats:
    inside = np.maximum(1.0 - u * u, 0.0)
    return inside * inside * inside  # a power of an array takes ten times as long


def _wendland(u: Floats) -> Floats:
    square = np.maximum(1.0 - u, 0.0) ** 2
    return square * square * (4.0 * u + 1.0)


def _bump(u: Floats) -> Floats:
    inside = 1.0 - u * u
    safe = np.where(inside > 0.0, inside, 1.0)
    return np.where(inside > 0.0, np.exp(1.0 - 1.0 / safe), 0.0)


def _epanechnikov(u: Floats) -> Floats:
    return np.maximum(1.0 - u * u, 0.0)


def _flat(u: Floats) -> Floats:
    return (u <= 1.0).astype(np.float64)


SMOOTH = {"triweight": _triweight, "wendland": _wendland, "bump": _bump}
ROUGH = {"epanechnikov": _epanechnikov, "flat": _flat}


class CompactKernel:
    """A kernel by name, called with distances over h."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, u: ArrayLike) -> Floats:
        """Return similarities of distances over h."""
        return self.of_distances(np.minimum(np.abs(real_array(u, "u")), 2.0))

    def of_distances(self, u: Floats) -> Floats:
        """Return similarities of finite distances over h that are not negative, unchecked."""
        return (SMOOTH | ROUGH)[self.name](u)

    def __repr__(self) -> str:
        return f"compact_kernel({self.name!r})"


@checked
def compact_kernel(name: str = "triweight") -> CompactKernel:
    """Return a kernel with compact support, as a function of distance / h.

    Parameters
    ----------
    name : {"triweight", "wendland", "bump", "epanechnikov", "flat"}, default="triweight"
        With u the distance over h, and zero for u > 1: (1 - u²)³, (1 - u)⁴(4u + 1) or
        exp(1 - 1/(1 - u²)). ``"epanechnikov"``, 1 - u², and ``"flat"``, 1, have no two continuous
        derivatives, as the theory asks for: they come with a warning.

    Returns
    -------
    kernel : callable
        Maps an array of distances over h, whose signs do not matter, to similarities from 0 to 1.

    References
    ----------
    .. [1] Pelletier and Pudlo (2011). Operator norm convergence of spectral clustering on level
       sets. Journal of Machine Learning Research 12, Assumption 2.
    .. [2] Wendland (1995). Piecewise polynomial, positive definite and compactly supported radial
       functions of minimal degree. Advances in Computational Mathematics 4.

    Examples
    --------
    >>> from octavo.cluster import compact_kernel
    >>> print(compact_kernel("triweight")([0.0, 0.5, 1.0, 2.0]))
    [1.       0.421875 0.       0.      ]
    """
    if name not in SMOOTH | ROUGH:
        raise UnknownNameError("kernel", name, [*SMOOTH, *ROUGH])
    if name in ROUGH:
        warnings.warn(
            f"The kernel {name!r} has no two continuous derivatives, which the theory of level-set "
            "clustering asks for; 'triweight', 'wendland' and 'bump' have.",
            UserWarning,
            stacklevel=3,
        )
    return CompactKernel(name)
