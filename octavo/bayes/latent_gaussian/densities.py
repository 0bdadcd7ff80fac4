"""A marginal density on a grid: its numbers, quantiles and picture in arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats

__all__ = ["Marginal"]


class Marginal:
    """A density on a line, normalised on its own grid.

    Parameters
    ----------
    x : array-like of shape (n,)
        Ascending; two equal neighbours mark a jump.
    pdf : array-like of shape (n,)
        Non-negative, not necessarily normalised.
    method : str, default=""
        How it was found.

    Attributes
    ----------
    x, pdf : arrays of shape (n,)
        The density integrates to one.
    mean, sd : float

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import Marginal
    >>> x = np.linspace(-8, 8, 801)
    >>> normal = Marginal(x, np.exp(-x**2 / 2))
    >>> round(normal.sd, 4), round(float(normal.quantile(0.975)), 3)
    (1.0, 1.96)
    """

    def __init__(self, x: ArrayLike, pdf: ArrayLike, method: str = "") -> None:
        self.x = np.asarray(x, dtype=np.float64)
        density = np.asarray(pdf, dtype=np.float64)
        if self.x.ndim != 1 or density.shape != self.x.shape or self.x.size < 2:
            raise ValueError(
                "Marginal expects x and pdf of one shape (n,), n at least 2, "
                f"got {self.x.shape} and {density.shape}."
            )
        if not (np.isfinite(self.x).all() and (np.diff(self.x) >= 0).all()):
            raise ValueError("x should be finite and ascending.")
        if not (np.isfinite(density).all() and (density >= 0).all()):
            raise ValueError("pdf should be finite and not negative.")
        self._widths = np.diff(self.x)
        mass = self._integral(density)
        if not mass > 0:
            raise ValueError("pdf should have a positive integral, got zero everywhere.")
        self.pdf = density / mass
        self.method = method
        self.mean = self._integral(self.pdf * self.x)
        self.sd = float(np.sqrt(self._integral(self.pdf * (self.x - self.mean) ** 2)))
        steps = 0.5 * self._widths * (self.pdf[1:] + self.pdf[:-1])
        self._cdf = np.concatenate([[0.0], np.cumsum(steps)])
        self._cdf /= self._cdf[-1]

    def _integral(self, f: Floats) -> float:
        return float(0.5 * (self._widths * (f[1:] + f[:-1])).sum())

    def density(self, x: ArrayLike) -> Floats:
        """Return the density at any points, zero outside the grid."""
        at = np.asarray(x, dtype=np.float64)
        return np.asarray(np.interp(at, self.x, self.pdf, left=0.0, right=0.0))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of lying at or below any points."""
        at = np.asarray(x, dtype=np.float64)
        return np.asarray(np.interp(at, self.x, self._cdf, left=0.0, right=1.0))

    def quantile(self, p: ArrayLike) -> Floats:
        """Return the points below which the density has mass p."""
        levels = np.asarray(p, dtype=np.float64)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"p should lie between 0 and 1, got {p!r}.")
        rising = np.concatenate([[True], np.diff(self._cdf) > 0])
        return np.asarray(np.interp(levels, self._cdf[rising], self.x[rising]))

    def __repr__(self) -> str:
        name = f", method={self.method!r}" if self.method else ""
        return f"Marginal(mean={self.mean:.4g}, sd={self.sd:.4g}{name})"


def mixture(marginals: list[Marginal], weights: Floats) -> Marginal:
    """Return the mixture of marginals on the union of their ranges."""
    if len(marginals) == 1:
        return marginals[0]
    weights = np.asarray(weights) / np.sum(weights)
    low = min(m.x[0] for m in marginals)
    high = max(m.x[-1] for m in marginals)
    sd = min(m.sd for m in marginals)
    size = int(np.clip((high - low) / (0.02 * sd), 801, 8001))
    jumps = [m.x[:-1][np.diff(m.x) == 0] for m in marginals]
    x = np.unique(np.concatenate([np.linspace(low, high, size), *jumps]))
    pdf = sum(w * m.density(x) for w, m in zip(weights, marginals, strict=True))
    return Marginal(x, np.asarray(pdf), marginals[0].method)
