"""Distribution functions of one variable, with logarithms that do not underflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import log_ndtr, logit, ndtri

from octavo.engine.estimators.arrays import Floats
from octavo.graphical.cumulative_networks.factors import STEP, CDFFactor

__all__ = ["UnivariateCDF"]

_SHAPED = ("t", "gev")


class _Law(NamedTuple):
    """A law at location 0 and scale 1; each function takes the shape last."""

    log_cdf: Callable[..., Any]
    log_pdf: Callable[..., Any]
    quantile: Callable[..., Any]


def _unit(z: Floats, _: Any) -> Floats:
    return np.log(np.clip(z, 0.0, 1.0))


# d log f / dz of laws at location 0 and scale 1
_BENDS: dict[str, Callable[[Floats], Floats]] = {
    "normal": lambda z: -z,
    "logistic": lambda z: -np.tanh(0.5 * z),
    "gumbel": lambda z: np.exp(-z) - 1.0,
}


# scipy's laws carry tenths of milliseconds a call; the plain ones are written out.
_LAWS = {
    "normal": _Law(
        lambda z, _: log_ndtr(z),
        lambda z, _: -0.5 * z * z - 0.5 * np.log(2 * np.pi),
        lambda u, _: ndtri(u),
    ),
    "logistic": _Law(
        lambda z, _: -np.logaddexp(0.0, -z),
        lambda z, _: -np.abs(z) - 2.0 * np.log1p(np.exp(-np.abs(z))),
        lambda u, _: logit(u),
    ),
    "gumbel": _Law(
        lambda z, _: -np.exp(-z),
        lambda z, _: -z - np.exp(-z),
        lambda u, _: -np.log(-np.log(u)),
    ),
    "uniform": _Law(
        _unit,
        lambda z, _: np.where((z >= 0) & (z <= 1), 0.0, -np.inf),
        lambda u, _: u,
    ),
    "t": _Law(stats.t.logcdf, stats.t.logpdf, stats.t.ppf),
    "gev": _Law(  # scipy's shape has the other sign
        lambda z, xi: stats.genextreme.logcdf(z, -xi),
        lambda z, xi: stats.genextreme.logpdf(z, -xi),
        lambda u, xi: stats.genextreme.ppf(u, -xi),
    ),
}


def _law_of(family: Any) -> _Law:
    if isinstance(family, str):
        return _LAWS[family]
    return _Law(
        lambda z, _: family.logcdf(z), lambda z, _: family.logpdf(z), lambda u, _: family.ppf(u)
    )


class UnivariateCDF(CDFFactor):
    """The distribution function of one variable: a factor, or a margin of a copula.

    Parameters
    ----------
    family : {"normal", "t", "logistic", "gumbel", "gev", "uniform"}, default="normal"
        Which law. A frozen continuous distribution of scipy is taken as it is; its parameters are
        then not fitted.
    loc, scale : float, default=0, 1
        Location and scale.
    shape : float, optional
        Degrees of freedom of t, tail index of the generalised extreme value law (positive: heavy).
    power : float, default=1
        The function is raised to this power. A variable in m factors whose margins have power 1/m
        has the margin of power one in the network.
    fixed : bool, default=False
        Whether a fit leaves the parameters as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import UnivariateCDF
    >>> UnivariateCDF("gumbel", loc=1.0).cdf(np.array([[1.0]])).round(4)
    array([0.3679])
    """

    arity = 1

    def __init__(
        self,
        family: Any = "normal",
        loc: float = 0.0,
        scale: float = 1.0,
        shape: float | None = None,
        power: float = 1.0,
        fixed: bool = False,
    ) -> None:
        self.family, self.loc, self.scale = family, loc, scale
        self.shape, self.power, self.fixed = shape, power, fixed
        frozen = all(hasattr(family, name) for name in ("logcdf", "logpdf", "ppf"))
        if not frozen and not (isinstance(family, str) and family in _LAWS):
            raise ValueError(
                f"family must be one of {', '.join(_LAWS)} or a frozen continuous "
                f"distribution of scipy, got {family!r}."
            )
        self._check_number("loc", loc)
        self._check_number("scale", scale, positive=True)
        self._check_number("power", power, positive=True)
        if not frozen and family in _SHAPED:
            if shape is None:
                raise ValueError(f"The family {family!r} needs a shape.")
            self._check_number("shape", shape, positive=family == "t")
        self._frozen = frozen

    @property
    def _law(self) -> _Law:  # looked up, as functions without a name cannot be pickled
        return _law_of(self.family)

    @staticmethod
    def _check_number(name: str, value: Any, positive: bool = False) -> None:
        if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
            raise TypeError(f"{name} must be a number, got {value!r}.")
        if not np.isfinite(value) or (positive and value <= 0):
            kind = "a positive finite number" if positive else "a finite number"
            raise ValueError(f"{name} must be {kind}, got {value!r}.")

    def _z(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return (x - self.loc) / self.scale

    def log_cdf(self, x: Floats) -> Floats:
        """Return log F at points.

        Parameters
        ----------
        x : ndarray
            Points, infinite ones too.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        with np.errstate(all="ignore"):
            return self.power * self._law.log_cdf(self._z(x), self.shape)

    def log_pdf(self, x: Floats) -> Floats:
        """Return the logarithm of the density at points.

        Parameters
        ----------
        x : ndarray
            Points, infinite ones too.

        Returns
        -------
        ndarray
            Of the same shape; -inf outside the support.
        """
        z = self._z(x)
        with np.errstate(all="ignore"):
            density = self._law.log_pdf(z, self.shape) - np.log(self.scale)
            if self.power != 1.0:
                low = self._law.log_cdf(z, self.shape)
                density = density + np.log(self.power) + (self.power - 1.0) * low
        return np.where(np.isfinite(x) & np.isfinite(density), density, -np.inf)

    def quantile(self, u: Floats) -> Floats:
        """Return the points at which F has the given values.

        Parameters
        ----------
        u : ndarray
            Probabilities.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        return self.loc + self.scale * self._law.quantile(
            np.asarray(u) ** (1.0 / self.power), self.shape
        )

    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        value = self.log_cdf(X[:, 0])
        return np.stack([value, self.log_pdf(X[:, 0])] if wanted[0] else [value])

    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        return self.quantile(random.uniform(size=(n, 1)))

    def marginal(self, kept: Sequence[int]) -> UnivariateCDF:
        return self

    def free(self) -> Floats:
        if self._frozen or self.fixed or self.family == "uniform":
            return np.empty(0)
        own = [self.loc / self.scale, np.log(self.scale)]
        if self.family == "t":
            own.append(np.log(self.shape))  # type: ignore[arg-type]
        elif self.family == "gev":
            own.append(self.shape)
        return np.array(own)

    def freed(self, free: Floats) -> UnivariateCDF:
        if not free.size:
            return self
        shape = self.shape
        if self.family == "t":
            shape = float(np.exp(np.clip(free[2], -5.0, 7.0)))
        elif self.family == "gev":
            shape = float(np.clip(free[2], -0.9, 5.0))
        scale = float(np.exp(np.clip(free[1], -300.0, 300.0)))
        return UnivariateCDF(self.family, float(free[0] * scale), scale, shape, self.power)

    def free_slopes(self, x: Floats) -> list[tuple[Floats, Floats]]:
        """Return the derivatives of `log_cdf` and `log_pdf` by each free parameter.

        Parameters
        ----------
        x : ndarray
            Finite points.

        Returns
        -------
        list of pairs of ndarray
            In the order of `free`; numerical where the law has a shape.
        """
        free, found = self.free(), []
        if not free.size or self.family not in _BENDS:
            for p in range(free.size):
                ends = []
                for sign in (STEP, -STEP):
                    moved = free.copy()
                    moved[p] += sign
                    ends.append(self.freed(moved))
                with np.errstate(invalid="ignore"):
                    pair = [
                        (getattr(ends[0], f)(x) - getattr(ends[1], f)(x)) / (2.0 * STEP)
                        for f in ("log_cdf", "log_pdf")
                    ]
                found.append((pair[0], pair[1]))
            return found
        z = self._z(x)
        with np.errstate(all="ignore"):
            hazard = np.exp(self._law.log_pdf(z, None) - self._law.log_cdf(z, None))
            by_z = self.power * hazard, _BENDS[self.family](z) + (self.power - 1.0) * hazard
        # z = x / scale - loc / scale, and free() holds loc / scale and log scale
        along = x / self.scale
        return [(-by_z[0], -by_z[1]), (-along * by_z[0], -along * by_z[1] - 1.0)]

    def described(self) -> dict[str, Any]:
        names = ("family", "loc", "scale", "shape", "power", "fixed")
        return {name: getattr(self, name) for name in names}
