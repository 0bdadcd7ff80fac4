"""f-divergences of two distributions: by name, from a convex function, or from a weight.

I_f(P, Q) = Σ q f(p / q) is a mixture of statistical informations for 0-1 loss,

    I_f(P, Q) = ∫_0^1 ΔL(π) γ(π) dπ,   γ(π) = f''((1 - π) / π) / π³,

with ΔL(π) = min(π, 1 - π) - Σ min(π p, (1 - π) q). The weight γ, unlike f, is unique; atoms stand
for the kinks of f.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, sections 2, 3.2 and 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from octavo._names import UnknownNameError
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.info.binary_experiments.generators import GENERATORS, dual_generator
from octavo.info.binary_experiments.weights import (
    Function,
    WeightMeasure,
    check_atoms,
    evaluate,
    golden_section,
    made_by,
    numeric_curvature,
    numeric_derivative,
    one_number,
    one_prior,
    open_unit,
    remade,
    settled,
)

__all__ = ["CsiszarDivergence", "f_divergence"]

_SUM = 1e-8  # how far probabilities may sum from one
_PLAIN = 1e8  # ratios up to here leave f with all but two of its digits


def check_pair(p: Any, q: Any) -> tuple[Floats, Floats]:
    """Return two distributions on the same outcomes, as vectors."""
    pair = []
    for values, name in ((p, "p"), (q, "q")):
        array = real_array(values, name, finite=False).ravel()
        if not array.size:
            raise ValueError(f"{name} holds no probabilities.")
        total = float(array.sum())
        if not np.isfinite(total):
            real_array(values, name)
        if array.min() < 0.0:
            raise ValueError(f"{name} must hold probabilities, got {array.min():.6g}.")
        if abs(total - 1.0) > _SUM:
            raise ValueError(
                f"{name} must sum to one, but sums to {total:.10g}: divide it by its sum."
            )
        pair.append(array)
    if pair[0].shape != pair[1].shape:
        raise ValueError(
            "p and q must have the same outcomes, got "
            f"{pair[0].size} and {pair[1].size} probabilities."
        )
    return pair[0], pair[1]


class CsiszarDivergence:
    """An f-divergence, its convex function and its weight over costs.

    Make one by `from_name`, `from_f` or `from_weight`, by `primitive`, or from others: ``2 * a +
    b`` is a divergence, and ``a.truncated(eps)`` leaves out the costs near 0 and 1. This class
    takes probabilities. For samples of continuous distributions see `CostCurveDivergence`,
    `VariationalDivergence`, and the estimators of `divergence`, among them `FDivergence`, which
    expands any f to second order.

    Parameters
    ----------
    f, df : callable
        The convex function on t > 0 with f(1) = 0, and its right derivative.
    gamma : callable
        The weight of Eq. (28), without atoms.
    at_zero, slope : float
        f(0) and the limit of f(t) / t; infinity where they are.
    atoms : sequence of (float, float), default=()
        Places π and masses of the weight where f has kinks.
    conjugate : callable, default=None
        sup over t ≥ 0 of s t - f(t), where it is known in closed form.
    dual : callable, default=None
        Returns the dual divergence, where it is known better than as t f(1/t).
    name : str, default="f"
        What it is called.

    Attributes
    ----------
    atoms : tuple of (float, float)
        Places and masses of γ.
    at_zero, slope : float
        f(0) and f'(∞): what an outcome of probability zero costs.
    name : str
        Its name.

    References
    ----------
    .. [1] Reid and Williamson (2011). Information, divergence and risk for binary experiments.
       JMLR 12.

    Examples
    --------
    >>> from octavo.info import CsiszarDivergence
    >>> kl = CsiszarDivergence.from_name("kl")
    >>> print(f"{kl.value([0.5, 0.3, 0.2], [0.2, 0.2, 0.6]):.5f}")
    0.36006
    >>> print(f"{float(kl.gamma(0.25)):.4f}")
    21.3333
    """

    def __init__(
        self,
        f: Function,
        df: Function,
        gamma: Function,
        *,
        at_zero: float,
        slope: float,
        atoms: Any = (),
        conjugate: Function | None = None,
        dual: Callable[[], CsiszarDivergence] | None = None,
        name: str = "f",
    ) -> None:
        self._f, self._df, self._gamma, self._conjugate = f, df, gamma, conjugate
        self._make_dual = dual
        self._masses: Callable[[Floats, Floats], Floats] | None = None
        self.at_zero, self.slope = float(at_zero), float(slope)
        self.atoms = check_atoms(atoms)
        self.name = name

    def __repr__(self) -> str:
        return f"CsiszarDivergence({self.name!r})"

    def __reduce__(self) -> Any:
        return remade(self)

    @classmethod
    def from_name(cls, name: str) -> Self:
        """Return a divergence of Table 2.

        Parameters
        ----------
        name : str
            "variational" (Σ|p - q|, from 0 to 2), "kl", "reverse_kl", "triangular",
            "jensen_shannon", "arithmetic_geometric", "jeffreys", "hellinger" (Σ(√p - √q)²),
            "pearson", "neyman" or "symmetric_chi2".

        Returns
        -------
        CsiszarDivergence
            The divergence.
        """
        if not isinstance(name, str) or name not in GENERATORS:
            raise UnknownNameError("divergence", str(name), list(GENERATORS))
        known = GENERATORS[name]
        made = cls(
            known.f,
            known.df,
            known.gamma,
            at_zero=known.at_zero,
            slope=known.slope,
            atoms=known.atoms,
            conjugate=known.conjugate,
            dual=lambda: cls.from_name(known.dual),
            name=name,
        )
        made._masses = known.masses
        return made_by(made, cls.from_name, name)

    @classmethod
    def from_f(cls, f: Function, d2f: Function | None = None) -> Self:
        """Return the divergence of a convex function.

        Parameters
        ----------
        f : callable
            Convex on t > 0. f(1) is subtracted, as in Eq. (15). Its value at 0, if it has none
            there, and its slope at infinity are found as limits.
        d2f : callable, default=None
            The second derivative; by differences of order eight if not given. A kink of f is
            right in values and missing from the weight: give weights with atoms by `from_weight`.

        Returns
        -------
        CsiszarDivergence
            The divergence.
        """
        _check_convex(f, d2f)
        start = float(evaluate(f, np.array([1.0]), "f")[0])

        def centred(t: Floats) -> Floats:
            return evaluate(f, t, "f") - start

        def slope_of(t: Floats) -> Floats:
            return numeric_derivative(centred, t, t, "f")

        def gamma(p: Floats) -> Floats:
            t = (1.0 - p) / p
            curved = numeric_curvature(centred, t, t, "f") if d2f is None else evaluate(d2f, t, "f")
            return curved / p**3  # Eq. (28)

        zero, slope = _limits(centred)
        found = cls(centred, slope_of, gamma, at_zero=zero, slope=slope)
        # slopes by differences are no guide where f is flat: look at values
        found._conjugate = lambda s: np.where(s > slope, np.inf, _searched_conjugate(found, s))
        return made_by(found, cls.from_f, f, d2f)

    @classmethod
    def from_weight(cls, gamma: Function, atoms: Any = (), breaks: Sequence[float] = ()) -> Self:
        """Return the divergence of a weight over priors, by inverting Eq. (28).

        Parameters
        ----------
        gamma : callable
            Density of the weight on (0, 1), not negative, poles at the ends allowed.
        atoms : sequence of (float, float), default=()
            Places and masses besides.
        breaks : sequence of float, default=()
            Where the density jumps or has a kink; without them the integrals are rough.

        Returns
        -------
        CsiszarDivergence
            The divergence, f being zero and flat at 1.
        """
        weight = WeightMeasure(gamma, atoms, breaks, "gamma")

        def f(t: Floats) -> Floats:  # the formula after Corollary 13, from 1 instead of 0
            first, second = weight.moments(1.0 / (1.0 + t))
            return second - t * first

        def df(t: Floats) -> Floats:
            return -weight.moments(1.0 / (1.0 + t))[0]

        ends = weight.moments(np.array([0.0, 1.0]))
        flipped = [(1.0 - place, mass) for place, mass in weight.atoms]
        half = sum(mass for place, mass in weight.atoms if place == 0.5)
        made = cls(
            f,
            df,
            weight,
            at_zero=ends[1][1],
            slope=-ends[0][0],
            atoms=weight.atoms,
            dual=lambda: cls.from_weight(
                lambda p: weight(1.0 - p), flipped, [1.0 - b for b in weight.breaks]
            ).tilted(-0.5 * half),  # both put the kink of an atom at one half above 1
            name="weight",
        )
        return made_by(made, cls.from_weight, gamma, weight.atoms, weight.breaks)

    @classmethod
    def primitive(cls, pi: float) -> Self:
        """Return the divergence f_π of Theorem 12: the statistical information for 0-1 loss.

        Parameters
        ----------
        pi : float
            The prior, strictly between 0 and 1.

        Returns
        -------
        CsiszarDivergence
            The divergence min(π, 1-π) - Σ min(π p, (1-π) q).
        """
        pi = one_prior(pi)
        tent = min(pi, 1.0 - pi)
        made = cls(
            # the tent less the 0-1 risk of Theorem 12
            lambda t: tent - np.minimum(1.0 - pi, pi * t),
            lambda t: np.where(pi * t < 1.0 - pi, -pi, 0.0),
            lambda p: np.zeros_like(p),
            at_zero=tent,
            slope=0.0,
            atoms=((pi, 1.0),),
            dual=lambda: cls.primitive(1.0 - pi).tilted(tent),
            name=f"primitive {pi:g}",
        )
        return made_by(made, cls.primitive, pi)

    def f(self, t: ArrayLike) -> Floats:
        """Return f(t).

        Parameters
        ----------
        t : array-like
            Ratios p / q, at least 0.

        Returns
        -------
        ndarray
            Values; f(0) is the limit from the right.
        """
        t = real_array(t, "t")
        if t.size and t.min() < 0.0:
            raise ValueError(f"t is a ratio of probabilities and at least 0, got {t.min():.6g}.")
        with np.errstate(all="ignore"):
            inner = self._f(np.where(t > 0.0, t, 1.0))
        return np.where(t > 0.0, inner, self.at_zero)[()]

    def df(self, t: ArrayLike) -> Floats:
        """Return the right derivative of f.

        Parameters
        ----------
        t : array-like
            Ratios, above 0.

        Returns
        -------
        ndarray
            Slopes.
        """
        t = real_array(t, "t")
        if t.size and t.min() <= 0.0:
            raise ValueError(f"t must be positive, got {t.min():.6g}.")
        with np.errstate(all="ignore"):
            return np.asarray(self._df(t), dtype=np.float64)[()]

    def gamma(self, pi: ArrayLike) -> Floats:
        """Return the weight of Eq. (28), without its atoms.

        Parameters
        ----------
        pi : array-like
            Priors, strictly between 0 and 1.

        Returns
        -------
        ndarray
            Densities.
        """
        pi = open_unit(pi, "pi")
        with np.errstate(all="ignore"):
            return np.asarray(self._gamma(pi), dtype=np.float64)[()]

    def conjugate(self, s: ArrayLike) -> Floats:
        """Return f*(s) = sup over t ≥ 0 of s t - f(t).

        Parameters
        ----------
        s : array-like
            Slopes.

        Returns
        -------
        ndarray
            Values; infinity beyond the slope of f at infinity.
        """
        s = real_array(s, "s")
        with np.errstate(all="ignore"):
            if self._conjugate is not None:
                return np.asarray(self._conjugate(s), dtype=np.float64)[()]
            found = _numeric_conjugate(self, np.atleast_1d(s)).reshape(s.shape)
        return np.where(s > self.slope, np.inf, found)[()]

    def dual(self) -> CsiszarDivergence:
        """Return the divergence with I(P, Q) and I(Q, P) exchanged (Eq. (16)).

        Returns
        -------
        CsiszarDivergence
            That of t f(1/t).
        """
        if self._make_dual is not None:
            return self._make_dual()
        f, df, gamma = dual_generator((self._f, self._df, self._gamma))
        return type(self)(
            f,
            df,
            gamma,
            at_zero=self.slope,
            slope=self.at_zero,
            atoms=[(1.0 - place, mass) for place, mass in self.atoms],
            dual=lambda: self,
            name=f"dual of {self.name}",
        )

    def tilted(self, slope: float) -> CsiszarDivergence:
        """Return the same divergence with slope (t - 1) added to f.

        Parameters
        ----------
        slope : float
            What is added to the derivative.

        Returns
        -------
        CsiszarDivergence
            Of the same values and the same weight.
        """
        slope = one_number(slope, "slope")
        return type(self)(
            lambda t: self._f(t) + slope * (t - 1.0),
            lambda t: self._df(t) + slope,
            self._gamma,
            at_zero=self.at_zero - slope,
            slope=self.slope + slope,
            atoms=self.atoms,
            conjugate=lambda s: np.asarray(self.conjugate(s - slope)) + slope,
            dual=lambda: self.dual().tilted(-slope),
            name=self.name,
        )

    def truncated(self, eps: float) -> CsiszarDivergence:
        """Return the divergence whose weight is cut to [eps, 1 - eps] (footnote 19).

        It is finite for all distributions, at most the whole divergence, and needs no estimate of
        risks at extreme costs: f is continued by its tangents.

        Parameters
        ----------
        eps : float
            Between 0 and one half.

        Returns
        -------
        CsiszarDivergence
            For "kl" the KL_ε of the paper.
        """
        eps = one_number(eps, "eps")
        if not 0.0 < eps < 0.5:
            raise ValueError(f"eps must lie strictly between 0 and 0.5, got {eps:g}.")
        ends = np.array([eps / (1.0 - eps), (1.0 - eps) / eps])
        values, slopes = self.f(ends), self.df(ends)

        def f(t: Floats) -> Floats:
            inner = np.clip(t, *ends)
            tangent = np.where(t < ends[0], slopes[0], slopes[1]) * (t - inner)
            return np.asarray(self.f(inner)) + tangent

        made = type(self)(
            f,
            lambda t: self.df(np.clip(t, *ends)),
            lambda p: np.where((p >= eps) & (p <= 1.0 - eps), self._gamma(p), 0.0),
            at_zero=values[0] - ends[0] * slopes[0],
            slope=slopes[1],
            atoms=[(place, mass) for place, mass in self.atoms if eps <= place <= 1.0 - eps],
            dual=lambda: self.dual().truncated(eps),
            name=f"{self.name}, costs from {eps:g}",
        )
        return made_by(made, CsiszarDivergence.truncated, self, eps)

    def __add__(self, other: CsiszarDivergence) -> CsiszarDivergence:
        """Return the sum (Theorem 11)."""
        if not isinstance(other, CsiszarDivergence):
            return NotImplemented
        made = type(self)(
            lambda t: self._f(t) + other._f(t),
            lambda t: self._df(t) + other._df(t),
            lambda p: self._gamma(p) + other._gamma(p),
            at_zero=self.at_zero + other.at_zero,
            slope=self.slope + other.slope,
            atoms=self.atoms + other.atoms,
            dual=lambda: self.dual() + other.dual(),
            name=f"{self.name} + {other.name}",
        )
        return made_by(made, CsiszarDivergence.__add__, self, other)

    def __rmul__(self, factor: float) -> CsiszarDivergence:
        """Return a multiple that is not negative (Theorem 11)."""
        factor = one_number(factor, "The factor")
        if factor <= 0.0:
            raise ValueError(f"A divergence is multiplied by a positive number, got {factor:g}.")
        made = type(self)(
            lambda t: factor * self._f(t),
            lambda t: factor * self._df(t),
            lambda p: factor * self._gamma(p),
            at_zero=factor * self.at_zero,
            slope=factor * self.slope,
            atoms=[(place, factor * mass) for place, mass in self.atoms],
            conjugate=lambda s: factor * np.asarray(self.conjugate(s / factor)),
            dual=lambda: factor * self.dual(),
            name=f"{factor:g} {self.name}",
        )
        return made_by(made, CsiszarDivergence.__rmul__, self, factor)

    __mul__ = __rmul__

    @property
    def is_symmetric(self) -> bool:
        """Whether I(P, Q) = I(Q, P): whether γ(π) = γ(1 - π) (Corollary 13), seen on a grid."""
        grid = expit(np.linspace(0.05, 4.0, 60))
        there, here = np.asarray(self.gamma(grid)), np.asarray(self.gamma(1.0 - grid))
        flipped = sorted((1.0 - place, mass) for place, mass in self.atoms)
        same = len(flipped) == 0 or np.allclose(flipped, self.atoms, rtol=1e-12, atol=1e-15)
        return bool(same and np.allclose(here, there, rtol=1e-6, atol=1e-9))

    def perspective(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return q f(p / q) with its limits where p or q is zero (Eq. (1) and (14)).

        Parameters
        ----------
        p, q : array-like
            Masses, at least 0.

        Returns
        -------
        ndarray
            What each outcome adds to the divergence; infinity where that is so, never NaN.
        """
        p, q = np.broadcast_arrays(real_array(p, "p"), real_array(q, "q"))
        least = min(p.min(), q.min()) if p.size else 0.0
        if least < 0.0:
            raise ValueError("p and q must not be negative.")
        if self._masses is not None:
            return self._masses(p, q)[()]
        if least > 0.0:  # neither limits nor overflow: no need to tell outcomes apart
            with np.errstate(over="ignore"):
                ratio = p / q
            if ratio.min() >= 1.0 / _PLAIN and ratio.max() <= _PLAIN:
                return (q * self.f(ratio))[()]
        out = np.zeros(p.shape)
        only_p, only_q = (q == 0.0) & (p > 0.0), (p == 0.0) & (q > 0.0)
        both = (p > 0.0) & (q > 0.0)
        out[only_p], out[only_q] = p[only_p] * self.slope, q[only_q] * self.at_zero
        # ratios below one cannot overflow: the dual serves where p is the larger
        small, large = both & (p <= q), both & (p > q)
        out[small] = q[small] * self.f(p[small] / q[small])
        if large.any():
            out[large] = p[large] * self.dual().f(q[large] / p[large])
        return out[()]

    def value(self, p: ArrayLike, q: ArrayLike) -> float:
        """Return I_f(P, Q) of two discrete distributions.

        Parameters
        ----------
        p, q : array-like
            Probabilities of the same outcomes, each summing to one.

        Returns
        -------
        float
            At least 0; infinity where the divergence is.
        """
        p, q = check_pair(p, q)
        terms = self.perspective(p, q) if self._masses is None else self._masses(p, q)
        return max(float(np.sum(terms)), 0.0)


def _check_convex(f: Function, d2f: Function | None) -> None:
    """Refuse a function that is not finite and convex, as far as a grid can see."""
    t = np.exp(np.linspace(-12.0, 12.0, 241))
    values = evaluate(f, t, "f")
    if not np.isfinite(values).all():
        where = t[np.argmin(np.isfinite(values))]
        raise ValueError(f"f must be finite for t > 0, but is not at t = {where:.6g}.")
    slopes = np.diff(values) / np.diff(t)
    rounding = 1e-13 * (np.abs(values[1:]) + np.abs(values[:-1])) / np.diff(t)
    slack = rounding[1:] + rounding[:-1] + 1e-12 * np.abs(slopes[1:])
    falls = np.diff(slopes) < -slack
    if falls.any():
        raise ValueError(
            f"f must be convex, but its slope falls near t = {t[np.argmax(falls) + 1]:.6g}."
        )
    if d2f is not None:
        curved = evaluate(d2f, t, "d2f")
        if not curved.min() >= 0.0:
            raise ValueError(
                f"f must be convex, but d2f is {curved.min():.6g} at t = "
                f"{t[np.argmin(curved)]:.6g}."
            )


def _limits(f: Function) -> tuple[float, float]:
    """Return f(0) and the limit of f(t) / t; infinity for logarithms and poles."""
    t = np.exp([16.0, 24.0, 32.0, 300.0])
    with np.errstate(all="ignore"):
        low = np.asarray(f(1.0 / t), dtype=np.float64)
        high = np.asarray(f(t), dtype=np.float64) / t
    found = []
    for steps in (low, high):
        limit = float(steps[-1]) if np.isfinite(steps[-1]) else np.inf
        found.append(settled(steps[1] - steps[0], steps[2] - steps[1], limit, abs(steps[2])))
    return found[0], found[1]


def _numeric_conjugate(divergence: CsiszarDivergence, s: Floats) -> Floats:
    """Return sup of s t - f(t) at the t of slope s, found by halving log t."""
    low, high = np.full(s.shape, -300.0), np.full(s.shape, 300.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = divergence.df(np.exp(middle)) < s
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.maximum(s * np.exp(low) - divergence.f(np.exp(low)), -divergence.at_zero)


def _searched_conjugate(divergence: CsiszarDivergence, s: Floats) -> Floats:
    """Return sup of s t - f(t) by a grid of log t and golden section around its best point."""
    grid = np.exp(np.linspace(-40.0, 340.0, 1521))
    values = np.asarray(divergence.f(grid))

    def search(slope: float) -> float:
        start = np.log(grid[np.nanargmax(slope * grid - values)])
        best = golden_section(
            lambda u: divergence.f(np.exp(u)) - slope * np.exp(u),
            np.array([start - 0.5]),
            np.array([start + 0.5]),
        )
        return max(-float(best[0]), -divergence.at_zero)

    return np.vectorize(search, otypes=[float])(s)


def resolve_divergence(divergence: Any) -> CsiszarDivergence:
    """Return a divergence given as itself or by its name."""
    if isinstance(divergence, CsiszarDivergence):
        return divergence
    return CsiszarDivergence.from_name(divergence)


@checked
def f_divergence(p: ArrayLike, q: ArrayLike, name: CsiszarDivergence | str = "kl") -> float:
    """Return an f-divergence of two discrete distributions.

    Parameters
    ----------
    p, q : array-like
        Probabilities of the same outcomes, each summing to one.
    name : str or CsiszarDivergence, default="kl"
        A name of Table 2, as in `CsiszarDivergence.from_name`, or a divergence.

    Returns
    -------
    float
        Infinity where the divergence is infinite.

    Examples
    --------
    >>> from octavo.info import f_divergence
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    >>> print(f"{f_divergence(p, q, 'variational'):.2f}, {f_divergence(p, q, 'hellinger'):.5f}")
    0.80, 0.18483
    """
    return resolve_divergence(name).value(p, q)
