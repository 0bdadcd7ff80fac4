"""The vocabulary of likelihood terms: log density, two derivatives, tilted and expected moments.

A `Likelihood` is a family with its parameters; `likelihood.bind(y, ...)` checks data and gives
`Terms`: functions t_j(x) of the latent x alone, evaluated for all j at once. Leading axes of x
are free (grids, quadrature nodes); its last axis runs over the observations. Laplace's method
uses `derivatives`, EP `tilted`, variational methods `expected`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln, log_expit, log_ndtr, xlogy

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.engine.sparse_gaussian.quadrature import (
    LOG_2PI,
    Moments,
    concave_moments,
    hermite,
    landmark_moments,
)

Derivatives = tuple[Floats, Floats]
_CHUNK = 2048  # observations whose quadrature nodes fit into a cache together


def _mills(z: Floats) -> Floats:
    """Return φ(z)/Φ(z) without underflow."""
    with np.errstate(over="ignore"):
        # in logs: far out φ and Φ underflow together
        return np.exp(-0.5 * z * z - 0.5 * LOG_2PI - log_ndtr(z))


class Terms:
    """Terms t_j(x) of given observations.

    Parameters
    ----------
    likelihood : Likelihood
    data : dict of arrays of shape (m,)
        What the family makes of y, exposure and trials.
    """

    def __init__(self, likelihood: Likelihood, data: dict[str, Numbers]) -> None:
        self.likelihood = likelihood
        self.data = data

    @property
    def size(self) -> int:
        return int(next(iter(self.data.values())).size)

    def take(self, index: Indices) -> Terms:
        """Return the terms of some of the observations."""
        return Terms(self.likelihood, {name: array[index] for name, array in self.data.items()})

    def log_density(self, x: Floats) -> Floats:
        """Return log t_j(x_j), all constants included."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.likelihood.log_density(x, **self.data)

    def derivatives(self, x: Floats) -> Derivatives:
        """Return the first two derivatives of log t_j."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.likelihood.derivatives(x, **self.data)

    def tilted(
        self, mean: Floats, variance: Floats, power: float = 1.0, n_quad: int = 32
    ) -> Moments:
        """Return log mass, mean and variance of t_j(x)^power N(x; mean, variance)."""
        m = self.size
        if m <= _CHUNK:
            return self.likelihood.tilted(self, mean, variance, power, n_quad)
        parts = []
        for begin in range(0, m, _CHUNK):
            some = slice(begin, begin + _CHUNK)
            few = Terms(self.likelihood, {name: a[some] for name, a in self.data.items()})
            args = (few, mean[..., some], variance[..., some], power, n_quad)
            parts.append(self.likelihood.tilted(*args))
        return Moments(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))

    def expected(
        self, mean: Floats, variance: Floats, n_quad: int = 32
    ) -> tuple[Floats, Floats, Floats]:
        """Return E log t_j and the expectations of its two derivatives under N(mean, variance).

        The derivative of the first with respect to the mean is the second, and with respect to
        the variance half the third (Bonnet, Price).
        """
        return self.likelihood.expected(self, mean, variance, n_quad)


class Likelihood:
    """A family of terms; subclasses say what is special about them."""

    name = "user"
    concave = True  # log t is concave: one mode, nodes by bisection
    smooth = True  # two derivatives exist everywhere: Laplace's method applies
    binary = False

    def bind(
        self, y: Any, exposure: Any = None, n_trials: Any = None, rows: Indices | None = None
    ) -> Terms:
        """Check observations and return their terms; `rows` are the numbers that errors name."""
        values = np.asarray(y, dtype=np.float64)
        rows = np.arange(values.shape[0]) if rows is None else rows
        for name, given in (("exposure", exposure), ("n_trials", n_trials)):
            if given is not None and name not in self.takes:
                raise ValueError(f"{name} means nothing to the likelihood {self.name!r}.")
        return Terms(self, self.data(values, _Side(exposure, n_trials, rows)))

    takes: tuple[str, ...] = ()

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        side.refuse(~np.isfinite(y), y, "finite observations")
        return {"y": y}

    def log_density(self, x: Floats, **data: Any) -> Floats:
        raise NotImplementedError

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        raise NotImplementedError

    def landmarks(self, mean: Floats, variance: Floats, **data: Any) -> Floats:
        raise NotImplementedError

    def tilted(
        self, terms: Terms, mean: Floats, variance: Floats, power: float, n_quad: int
    ) -> Moments:
        def log_term(x: Floats) -> Floats:
            return power * self.log_density(x, **terms.data)

        if self.concave:

            def slopes(x: Floats) -> Derivatives:
                first, second = self.derivatives(x, **terms.data)
                return power * first, power * second

            return concave_moments(log_term, slopes, mean, variance, n_quad)
        marks = self.landmarks(mean, variance, **terms.data)
        return landmark_moments(log_term, marks, mean, variance, max(n_quad // 2, 8))

    def expected(
        self, terms: Terms, mean: Floats, variance: Floats, n_quad: int
    ) -> tuple[Floats, Floats, Floats]:
        nodes, weights = hermite(n_quad)
        tail = (1,) * np.ndim(mean)
        # Σ w f(m + √v node), the standard normal rule
        x = mean + np.sqrt(variance) * nodes.reshape(-1, *tail)
        first, second = terms.derivatives(x)
        value = terms.log_density(x)
        w = weights.reshape(-1, *tail)
        return (w * value).sum(axis=0), (w * first).sum(axis=0), (w * second).sum(axis=0)


class _Side:
    """What comes beside y, and the sentences for what does not fit."""

    def __init__(self, exposure: Any, n_trials: Any, rows: Indices) -> None:
        self.rows = rows
        self.exposure = self._positive("exposure", exposure)
        self.n_trials = self._positive("n_trials", n_trials)

    def _positive(self, name: str, given: Any) -> Floats:
        m = self.rows.size
        values = np.ones(m) if given is None else np.asarray(given, dtype=np.float64)
        if values.ndim == 0:
            values = np.full(m, float(values))
        if values.shape != (m,):
            raise ValueError(f"{name} should have shape ({m},), got {values.shape}.")
        self.refuse(~(np.isfinite(values) & (values > 0)), values, f"positive values of {name}")
        return values

    def refuse(self, bad: Numbers, values: Numbers, expected: str) -> None:
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ValueError(f"Expected {expected}, got {values[at]:g} in row {self.rows[at]}.")


class Gaussian(Likelihood):
    """N(y; x, variance)."""

    name = "gaussian"

    def __init__(self, variance: float = 1.0) -> None:
        self.variance = _positive_parameter("variance", variance)

    def log_density(self, x: Floats, **data: Any) -> Floats:
        v = self.variance
        return -0.5 * ((data["y"] - x) ** 2 / v + LOG_2PI + np.log(v))

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        return (data["y"] - x) / self.variance, np.full(np.shape(x), -1.0 / self.variance)

    def tilted(
        self, terms: Terms, mean: Floats, variance: Floats, power: float, n_quad: int
    ) -> Moments:
        v, y = self.variance, terms.data["y"]
        total = v / power + variance
        # N(y; x, v)^power is N(y; x, v / power) but for its constant
        log_mass = -0.5 * ((y - mean) ** 2 / total + np.log(total) + LOG_2PI)
        # that constant
        log_mass += 0.5 * (np.log(v / power) + LOG_2PI) - 0.5 * power * (np.log(v) + LOG_2PI)
        gain = variance / total
        return Moments(log_mass, mean + gain * (y - mean), variance * (1.0 - gain))

    def expected(
        self, terms: Terms, mean: Floats, variance: Floats, n_quad: int
    ) -> tuple[Floats, Floats, Floats]:
        value = self.log_density(mean, **terms.data) - 0.5 * variance / self.variance
        return (value, *self.derivatives(mean, **terms.data))


class _Binary(Likelihood):
    """Terms of a sign: labels are {0, 1} or {-1, +1}; data of one class are legal."""

    binary = True

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        side.refuse(~np.isin(y, (-1.0, 0.0, 1.0)), y, "labels 0 and 1, or -1 and +1")
        if (y == -1.0).any():
            side.refuse(y == 0.0, y, "labels -1 and +1, as other rows have them")
        return {"sign": np.where(y > 0, 1.0, -1.0)}


class Probit(_Binary):
    """Φ(sign x)."""

    name = "probit"

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return np.asarray(log_ndtr(data["sign"] * x))

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        sign = data["sign"]
        ratio = _mills(sign * x)
        # -r (z + r) < 0, which rounding could lose far out
        return sign * ratio, -ratio * np.maximum(sign * x + ratio, 0.0)

    def tilted(
        self, terms: Terms, mean: Floats, variance: Floats, power: float, n_quad: int
    ) -> Moments:
        if power != 1.0:
            return super().tilted(terms, mean, variance, power, n_quad)
        sign = terms.data["sign"]
        scale = np.sqrt(1.0 + variance)  # ∫ Φ(x) N(x; m, v) dx = Φ(m / √(1 + v))
        return _signed_moments(sign, sign * mean / scale, mean, variance, scale)


class Step(_Binary):
    """1 where sign x > 0, else 0."""

    name = "step"
    smooth = False

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return np.where(data["sign"] * x >= 0, 0.0, -np.inf)

    def tilted(
        self, terms: Terms, mean: Floats, variance: Floats, power: float, n_quad: int
    ) -> Moments:
        sign, scale = terms.data["sign"], np.sqrt(variance)
        return _signed_moments(sign, sign * mean / scale, mean, variance, scale)

    def expected(self, *_: Any) -> tuple[Floats, Floats, Floats]:
        raise ValueError("The expected log density of a 'step' likelihood is minus infinity.")


def _signed_moments(
    sign: Floats, z: Floats, mean: Floats, variance: Floats, scale: Floats
) -> Moments:
    """Return the moments of N(x; mean, variance) times Φ, where its mass is Φ(z)."""
    ratio = _mills(z)
    # Far in the tail z + φ/Φ cancels; its series in 1/z is exact to rounding beyond 1e4.
    far = z < -1e4
    lost = np.where(far, 1.0 - 1.0 / np.where(far, z, 1.0) ** 2, ratio * (z + ratio))
    new_mean = mean + sign * variance * ratio / scale  # E x = m + s v φ(z) / (Φ(z) scale)
    return Moments(np.asarray(log_ndtr(z)), new_mean, variance - variance**2 * lost / scale**2)


class Logit(_Binary):
    """1 / (1 + exp(-sign x))."""

    name = "logit"

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return np.asarray(log_expit(data["sign"] * x))

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        sign = data["sign"]
        other = np.exp(log_expit(-sign * x))
        return sign * other, -other * np.exp(log_expit(sign * x))


class Poisson(Likelihood):
    """Counts with mean exposure exp(x)."""

    name = "poisson"
    takes = ("exposure",)

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        side.refuse(~((y >= 0) & (y == np.floor(y)) & np.isfinite(y)), y, "whole counts >= 0")
        constant = xlogy(y, side.exposure) - gammaln(y + 1.0)
        return {"y": y, "exposure": side.exposure, "constant": np.asarray(constant)}

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return data["y"] * x - data["exposure"] * np.exp(x) + data["constant"]

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        rate = data["exposure"] * np.exp(x)
        return data["y"] - rate, -rate

    def expected(
        self, terms: Terms, mean: Floats, variance: Floats, n_quad: int
    ) -> tuple[Floats, Floats, Floats]:
        data = terms.data
        rate = data["exposure"] * np.exp(mean + 0.5 * variance)  # E exp(x) of N(m, v)
        return data["y"] * mean - rate + data["constant"], data["y"] - rate, -rate


class Binomial(Likelihood):
    """y successes of n_trials with log odds x."""

    name = "binomial"
    takes = ("n_trials",)

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        n = side.n_trials
        side.refuse(n != np.floor(n), n, "whole numbers of trials")
        side.refuse(~((y >= 0) & (y == np.floor(y)) & np.isfinite(y)), y, "whole counts >= 0")
        side.refuse(y > n, y, "at most n_trials successes")
        constant = gammaln(n + 1.0) - gammaln(y + 1.0) - gammaln(n - y + 1.0)
        return {"y": y, "n": n, "constant": np.asarray(constant)}

    def log_density(self, x: Floats, **data: Any) -> Floats:
        y, n = data["y"], data["n"]
        return np.asarray(y * log_expit(x) + (n - y) * log_expit(-x) + data["constant"])

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        p, other = np.exp(log_expit(x)), np.exp(log_expit(-x))
        return data["y"] - data["n"] * p, -data["n"] * p * other


class NegativeBinomial(Likelihood):
    """Counts with mean μ = exposure exp(x) and variance μ + dispersion μ²."""

    name = "negative-binomial"
    takes = ("exposure",)

    def __init__(self, dispersion: float = 1.0) -> None:
        self.dispersion = _positive_parameter("dispersion", dispersion)

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        side.refuse(~((y >= 0) & (y == np.floor(y)) & np.isfinite(y)), y, "whole counts >= 0")
        r = 1.0 / self.dispersion
        constant = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
        shift = np.log(side.exposure * self.dispersion)
        return {"y": y, "shift": shift, "constant": np.asarray(constant)}

    def log_density(self, x: Floats, **data: Any) -> Floats:
        # log (μ/(μ + r))^y (r/(μ + r))^r, in log odds
        z, r = x + data["shift"], 1.0 / self.dispersion  # μ/(μ + r) = expit(z)
        y = data["y"]
        return np.asarray(y * log_expit(z) + r * log_expit(-z) + data["constant"])

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        z, total = x + data["shift"], data["y"] + 1.0 / self.dispersion
        p, other = np.exp(log_expit(z)), np.exp(log_expit(-z))
        return data["y"] - total * p, -total * p * other


class StudentT(Likelihood):
    """Student's t with `df` degrees of freedom about x, scaled."""

    name = "student-t"
    concave = False

    def __init__(self, df: float = 4.0, scale: float = 1.0) -> None:
        self.df = _positive_parameter("df", df)
        self.scale = _positive_parameter("scale", scale)
        half = 0.5 * self.df
        self._constant = float(gammaln(half + 0.5) - gammaln(half))
        self._constant -= 0.5 * float(np.log(self.df * np.pi * self.scale**2))

    def log_density(self, x: Floats, **data: Any) -> Floats:
        z2 = ((data["y"] - x) / self.scale) ** 2
        return self._constant - 0.5 * (self.df + 1.0) * np.log1p(z2 / self.df)

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        r, v = data["y"] - x, self.df * self.scale**2
        total = v + r * r
        # the second derivative is positive for |r| > √df scale: no concave term
        return (self.df + 1.0) * r / total, (self.df + 1.0) * (r * r - v) / total**2

    def landmarks(self, mean: Floats, variance: Floats, **data: Any) -> Floats:
        y = np.broadcast_to(data["y"], np.shape(mean))
        return np.stack([y + s * self.scale for s in (-40, -9, -3, -1, 0, 1, 3, 9, 40)])


class Laplace(Likelihood):
    """exp(-|y - x| / scale) / (2 scale)."""

    name = "laplace"
    smooth = False

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = _positive_parameter("scale", scale)

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return -np.abs(data["y"] - x) / self.scale - np.log(2.0 * self.scale)

    def tilted(
        self, terms: Terms, mean: Floats, variance: Floats, power: float, n_quad: int
    ) -> Moments:
        """Two halves of Gaussians that are shifted by ± variance power / scale and cut at y."""
        y, rate = terms.data["y"], power / self.scale
        sd = np.sqrt(variance)
        parts = []
        for side in (1.0, -1.0):  # x above y, then below
            centre = mean - side * rate * variance
            z = side * (centre - y) / sd
            # completing the square: each half's mass is a Gaussian tail
            weight = 0.5 * rate**2 * variance - side * rate * (mean - y) + log_ndtr(z)
            ratio = _mills(z)
            offset = side * sd * np.where(z < -1e4, -1.0 / np.minimum(z, -1.0), z + ratio)
            parts.append((weight, y + offset, _half_variance(z, ratio, variance)))
        (w1, m1, v1), (w2, m2, v2) = parts
        total = np.logaddexp(w1, w2)
        p1, p2 = np.exp(w1 - total), np.exp(w2 - total)
        new_mean = p1 * m1 + p2 * m2
        # variance of two parts: within and between
        new_variance = p1 * v1 + p2 * v2 + p1 * p2 * (m1 - m2) ** 2
        return Moments(total - power * np.log(2.0 * self.scale), new_mean, new_variance)

    def expected(self, *_: Any) -> tuple[Floats, Floats, Floats]:
        raise ValueError("The 'laplace' likelihood has no second derivative to take a mean of.")


def _half_variance(z: Floats, ratio: Floats, variance: Floats) -> Floats:
    """Return the variance of a Gaussian cut off so that its mass is Φ(z)."""
    far = z < -1e3
    safe = np.where(far, z, -1.0)
    return variance * np.where(far, 1.0 / safe**2, 1.0 - ratio * (z + ratio))


class StochasticVolatilityTerm(Likelihood):
    """N(y; 0, exp(x)): x is the logarithm of a variance."""

    name = "stochastic-volatility"

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return -0.5 * (LOG_2PI + x + data["y"] ** 2 * np.exp(-x))

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        scaled = 0.5 * data["y"] ** 2 * np.exp(-x)
        return scaled - 0.5, -scaled


class Weibull(Likelihood):
    """Times with hazard exp(x) shape t^(shape - 1); a second column of y says 1 for an event
    and 0 for a time at which nothing had happened yet.
    """

    name = "weibull"

    def __init__(self, shape: float = 1.0) -> None:
        self.shape = _positive_parameter("shape", shape)

    def data(self, y: Floats, side: _Side) -> dict[str, Numbers]:
        event = np.ones(y.shape[0])
        if y.ndim == 2:
            if y.shape[1] != 2:
                raise ValueError(f"y should have columns time and event, got {y.shape[1]} columns.")
            y, event = y[:, 0], y[:, 1]
            side.refuse(~np.isin(event, (0.0, 1.0)), event, "events 0 or 1")
        side.refuse(~(np.isfinite(y) & (y > 0)), y, "positive times")
        # log of the hazard's known part, at events
        constant = event * (np.log(self.shape) + (self.shape - 1.0) * np.log(y))
        return {"event": event, "risk": y**self.shape, "constant": constant}

    def log_density(self, x: Floats, **data: Any) -> Floats:
        # event log hazard - cumulative hazard
        return data["event"] * x - data["risk"] * np.exp(x) + data["constant"]

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        hazard = data["risk"] * np.exp(x)
        return data["event"] - hazard, -hazard


class Exponential(Weibull):
    """Times with rate exp(x)."""

    name = "exponential"

    def __init__(self) -> None:
        super().__init__(1.0)


class UserLikelihood(Likelihood):
    """Terms from log t(y, x); derivatives by central differences where none are given."""

    concave = False

    def __init__(
        self,
        log_density: Callable[[Numbers, Floats], Floats],
        derivatives: Callable[[Numbers, Floats], Derivatives] | None = None,
    ) -> None:
        self.function = log_density
        self.slopes = derivatives

    def log_density(self, x: Floats, **data: Any) -> Floats:
        return np.asarray(self.function(data["y"], x), dtype=np.float64)

    def derivatives(self, x: Floats, **data: Any) -> Derivatives:
        if self.slopes is not None:
            first, second = self.slopes(data["y"], x)
            return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        # eps^(1/4) balances rounding and truncation of a second difference.
        step = 1.2e-4 * np.maximum(1.0, np.abs(x))
        above, here, below = (self.log_density(x + s * step, **data) for s in (1.0, 0.0, -1.0))
        return (above - below) / (2.0 * step), (above - 2.0 * here + below) / step**2

    def landmarks(self, mean: Floats, variance: Floats, **data: Any) -> Floats:
        """Return places about the highest of many points, at the scale of its curvature."""
        sd = np.sqrt(variance)
        tries = np.stack([mean + s * sd for s in np.linspace(-16.0, 16.0, 129)])
        tail = 0.5 * (tries - mean) ** 2 / variance
        value = np.nan_to_num(self.log_density(tries, **data) - tail, nan=-np.inf)
        best = np.take_along_axis(tries, value.argmax(axis=0)[None], axis=0)[0]
        _, second = self.derivatives(best, **data)
        width = 1.0 / np.sqrt(1.0 / variance + np.maximum(np.nan_to_num(-second), 0.0))
        return np.stack([best + s * width for s in (-9, -4, -2, 0, 2, 4, 9)])


def _positive_parameter(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not np.isreal(value) or np.ndim(value):
        raise ValueError(f"{name} should be a positive number, got {value!r}.")
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} should be a positive number, got {value!r}.")
    return float(value)


FAMILIES: dict[str, type[Likelihood]] = {
    family.name: family
    for family in (
        Gaussian,
        Probit,
        Logit,
        Step,
        Poisson,
        Binomial,
        NegativeBinomial,
        StudentT,
        Laplace,
        StochasticVolatilityTerm,
        Exponential,
        Weibull,
    )
}
