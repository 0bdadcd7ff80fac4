"""Factors of a cumulative distribution network: distribution functions with all derivatives.

A factor answers one question: the logarithms of its mixed derivatives by every subset of its
variables, as a table with an axis of length two for each variable (value, derivative) and rows
last. Values in steps are met here: their derivative is the difference to the step below.

Reference: J. C. Huang and B. J. Frey (2011), "Cumulative Distribution Networks and the
Derivative-sum-product Algorithm", Journal of Machine Learning Research 12, Sections 2 and 4.2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.normal_boxes import log_normal_box

__all__ = ["CDFFactor", "GaussianCDF", "LogisticCDF", "TableCDF"]

MOST_VARIABLES = 12
STEP = 1e-5  # of numerical derivatives by parameters: the cube root of the rounding error
_FAR = 1e6


def _vector(values: Any, name: str) -> Floats:
    found = np.array(values, dtype=float, ndmin=1)
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise ValueError(f"{name} must be a sequence of finite numbers, got {values!r}.")
    if found.size > MOST_VARIABLES:
        raise ValueError(
            f"{name} has {found.size} entries; a factor of more than {MOST_VARIABLES} variables "
            "has too many derivatives."
        )
    return found


def log_difference(high: Floats, low: Floats) -> Floats:
    """Return log(exp(high) - exp(low)), low never above high but for rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isneginf(low), -np.inf, np.minimum(low - high, 0.0))
        return np.where(np.isneginf(high), -np.inf, high + np.log(-np.expm1(gap)))


def log_sum(terms: Floats) -> Any:
    """Return log Σ exp over the first axis; scipy's takes longer to begin than this to end."""
    top = terms.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - safe).sum(axis=0)) + safe


class CDFFactor(ABC):
    """A distribution function of a few variables, with its mixed derivatives.

    To bring one of your own, define `arity`, `log_jet`, `draw` and `marginal`; for fitting, also
    `free` (parameters without constraints) and `freed`.

    Examples
    --------
    >>> from octavo.graphical import CDFFactor, LogisticCDF
    >>> factor = LogisticCDF([1.0, 2.0])
    >>> isinstance(factor, CDFFactor), factor.arity
    (True, 2)
    >>> print(factor.cdf([[0.0, 0.0]]).round(2))
    [0.33]
    """

    arity: int

    @abstractmethod
    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        """Return the logarithms of the mixed derivatives.

        Parameters
        ----------
        X : ndarray of shape (n, arity)
            Points; +inf stands for a variable that is not looked at.
        wanted : sequence of bool
            Variables by which is differentiated.

        Returns
        -------
        ndarray of shape (1 or 2, ..., n)
            Entry 1 of an axis is the derivative; axes not wanted have length one.
        """

    @abstractmethod
    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        """Return n rows with this distribution function."""

    @abstractmethod
    def marginal(self, kept: Sequence[int]) -> CDFFactor:
        """Return the factor of some of its variables, in that order."""

    def free(self) -> Floats:
        """Return the parameters in coordinates without constraints."""
        return np.empty(0)

    def freed(self, free: Floats) -> CDFFactor:
        """Return a factor of the same kind with these parameters."""
        return self

    def cdf(self, X: ArrayLike) -> Floats:
        """Return the distribution function at rows.

        Parameters
        ----------
        X : array-like of shape (n, arity)
            Points; infinite ones are allowed.

        Returns
        -------
        ndarray of shape (n,)
            Probabilities.
        """
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self.arity or np.isnan(rows).any():
            raise ValueError(
                f"X must be a table of numbers with {self.arity} columns, got shape {rows.shape}."
            )
        below = np.isneginf(rows).any(axis=1)
        value = np.exp(self.log_jet(rows, [False] * self.arity).reshape(-1))
        return np.where(below, 0.0, value)

    def log_table(self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]) -> Floats:
        """Return the logarithms of derivatives, differences where a variable has steps."""
        axes = [a for a in range(self.arity) if steps[a] and wanted[a]]
        smooth = [w and not s for w, s in zip(wanted, steps)]
        table = self._bounded(X, smooth)
        if not axes:
            return table
        corners = {}
        for low in product((0, 1), repeat=len(axes)):
            moved = X.copy()
            for a, is_low in zip(axes, low):
                if is_low:  # the step below the first is nothing at all
                    # Table 1's finite difference
                    moved[:, a] = np.where(X[:, a] >= 1, X[:, a] - 1, -np.inf)
            corners[low] = table if not any(low) else self._bounded(moved, smooth)
        for i, a in enumerate(axes):
            for key in [k for k in corners if k[i] == 0]:
                # differences axis by axis: Σ ± F over the corners below
                high, under = corners[key], corners.pop((*key[:i], 1, *key[i + 1 :]))
                corners[key] = np.concatenate([high, log_difference(high, under)], axis=a)
        return corners[(0,) * len(axes)]

    def _bounded(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        """Return `log_jet`, zero where a variable is at its very beginning."""
        below = np.isneginf(X).any(axis=1)
        if not below.any():
            return self.log_jet(X, wanted)
        table = self.log_jet(np.where(np.isneginf(X), 0.0, X), wanted)
        table[..., below] = -np.inf
        return table

    def table(self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]) -> Floats:
        """Return derivatives as plain numbers; they may underflow."""
        return np.exp(self.log_table(X, wanted, steps))

    def log_table_gradient(
        self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]
    ) -> list[Floats]:
        """Return the derivatives of `log_table` by each free parameter."""
        free = self.free()
        found = []
        for p in range(free.size):
            ends = []
            for sign in (1.0, -1.0):
                moved = free.copy()
                moved[p] += sign * STEP
                ends.append(self.freed(moved).log_table(X, wanted, steps))
            with np.errstate(invalid="ignore"):
                slope = (ends[0] - ends[1]) / (2.0 * STEP)
            found.append(np.where(np.isfinite(slope), slope, 0.0))
        return found

    def described(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.described().items())
        return f"{type(self).__name__}({said})"


class GaussianCDF(CDFFactor):
    """The distribution function of a normal vector.

    Up to three variables are exact to rounding, more to about five digits.

    Parameters
    ----------
    mean : array-like of shape (k,)
        Means.
    cov : array-like of shape (k, k)
        Covariances, positive definite.

    Examples
    --------
    >>> from octavo.graphical import GaussianCDF
    >>> GaussianCDF([0, 0], [[1, 0.5], [0.5, 1]]).cdf([[0, 0]]).round(6)
    array([0.333333])
    """

    def __init__(self, mean: ArrayLike, cov: ArrayLike) -> None:
        self.mean = _vector(mean, "mean")
        self.arity = self.mean.size
        self.cov = np.array(cov, dtype=float)
        k = self.arity
        if self.cov.shape != (k, k) or not np.isfinite(self.cov).all():
            raise ValueError(f"cov must be a finite {k} by {k} matrix, got {cov!r}.")
        size = float(np.abs(self.cov).max())
        if np.abs(self.cov - self.cov.T).max() > 1e-8 * size:
            raise ValueError("cov is not symmetric.")
        self.scale = np.sqrt(np.maximum(np.diag(self.cov), 0.0))
        smallest = -1.0
        if (self.scale > 0).all():
            self.corr = self.cov / self.scale[:, None] / self.scale
            smallest = float(np.linalg.eigvalsh(self.corr)[0])
        if smallest <= 1e-12:
            raise ValueError(
                "cov must be positive definite: a covariance that is not positive semi-definite "
                "is none, and a singular one has no density. Its smallest eigenvalue on the scale "
                f"of correlations is {smallest:.3g}."
            )

    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        Z = np.clip((X - self.mean) / self.scale, -_FAR, _FAR).T
        shape = [2 if w else 1 for w in wanted]
        table = np.empty((*shape, len(X)))
        for index in np.ndindex(*shape):
            taken = np.flatnonzero(index)
            table[index] = self._log_partial(Z, taken) - np.log(self.scale[taken]).sum()
        return table

    def _log_partial(self, Z: Floats, taken: Any) -> Floats:
        """Return log of the density of some variables times the probability of the others."""
        left = np.setdiff1d(np.arange(self.arity), taken)
        if not taken.size:
            return log_normal_box(Z, self.corr)  # Φ itself, no derivative
        inner = self.corr[np.ix_(taken, taken)]
        chol = np.linalg.cholesky(inner)
        white = np.linalg.solve(chol, Z[taken])
        density = -0.5 * (white**2).sum(axis=0) - np.log(np.diag(chol)).sum()
        density -= 0.5 * taken.size * math.log(2.0 * math.pi)
        if not left.size:
            return density
        # Section 4.2: the others given these, with the Schur complement as covariance.
        slope = np.linalg.solve(inner, self.corr[np.ix_(taken, left)])
        cov = self.corr[np.ix_(left, left)] - self.corr[np.ix_(left, taken)] @ slope
        sd = np.sqrt(np.diag(cov))
        rest = (Z[left] - slope.T @ Z[taken]) / sd[:, None]
        return density + log_normal_box(rest, cov / sd[:, None] / sd)

    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        chol = np.linalg.cholesky(self.corr)
        return self.mean + self.scale * (random.normal(size=(n, self.arity)) @ chol.T)

    def marginal(self, kept: Sequence[int]) -> GaussianCDF:
        at = list(kept)
        return GaussianCDF(self.mean[at], self.cov[np.ix_(at, at)])

    def free(self) -> Floats:
        chol = np.linalg.cholesky(self.corr)
        rows = [chol[i, :i] / chol[i, i] for i in range(1, self.arity)]
        return np.concatenate([self.mean / self.scale, np.log(self.scale), *rows])

    def freed(self, free: Floats) -> GaussianCDF:
        k = self.arity
        scale = np.exp(np.clip(free[k : 2 * k], -300.0, 300.0))
        corr = corr_from_free(free[2 * k :], k)
        return GaussianCDF(free[:k] * scale, corr * np.outer(scale, scale))

    def described(self) -> dict[str, Any]:
        return {"mean": self.mean.tolist(), "cov": self.cov.tolist()}


def corr_from_free(free: Floats, k: int) -> Floats:
    """Return a correlation matrix from the entries below the diagonal of a unit-diagonal factor."""
    chol = np.eye(k)
    chol[np.tril_indices(k, -1)] = np.clip(free, -1e4, 1e4)
    chol /= np.linalg.norm(chol, axis=1, keepdims=True)
    corr = chol @ chol.T
    np.fill_diagonal(corr, 1.0)
    return corr


class LogisticCDF(CDFFactor):
    """The sigmoid of several variables, 1 / (1 + Σ exp(-w_k (x_k - loc_k))).

    Parameters
    ----------
    weights : array-like of shape (k,)
        Positive numbers: how steep it is along each variable.
    loc : array-like of shape (k,), optional
        Where each variable is centred. Zero if not given, and then not fitted.

    Examples
    --------
    >>> from octavo.graphical import LogisticCDF
    >>> LogisticCDF([1.0, 2.0]).cdf([[0.0, 0.0]]).round(4)
    array([0.3333])
    """

    def __init__(self, weights: ArrayLike, loc: ArrayLike | None = None) -> None:
        self.weights = _vector(weights, "weights")
        if (self.weights <= 0).any():
            raise ValueError(
                f"weights must be positive, or the sigmoid is no distribution function; got "
                f"{self.weights.min():g}."
            )
        self.arity = self.weights.size
        self.loc = None if loc is None else _vector(loc, "loc")
        if self.loc is not None and self.loc.size != self.arity:
            raise ValueError(f"loc must have {self.arity} entries, got {self.loc.size}.")

    def _exponents(self, X: Floats) -> Floats:
        shift = 0.0 if self.loc is None else self.loc
        with np.errstate(over="ignore"):
            return np.clip(-(self.weights * (X - shift)).T, -1e300, 1e300)

    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        a = self._exponents(X)
        total = log_sum(np.vstack([np.zeros(len(X)), a]))
        shape = [2 if w else 1 for w in wanted]
        table = np.empty((*shape, len(X)))
        with np.errstate(over="ignore"):
            for index in np.ndindex(*shape):
                taken = np.flatnonzero(index)
                # |A|! Π w_k e^(-w_k x_k) / S^(|A| + 1)
                ratios = np.log(self.weights[taken])[:, None] + (a[taken] - total)
                table[index] = gammaln(taken.size + 1) - total + ratios.sum(axis=0)
        return table

    def table(self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]) -> Floats:
        if any(w and s for w, s in zip(wanted, steps)):
            return super().table(X, wanted, steps)
        shift = np.zeros(self.arity) if self.loc is None else self.loc
        ratios = np.empty((self.arity, len(X)))
        total = np.ones(len(X))
        with np.errstate(all="ignore"):  # rows that overflow are done again in logarithms
            for k in range(self.arity):
                np.exp(-self.weights[k] * (X[:, k] - shift[k]), out=ratios[k])
                total += ratios[k]
            value = 1.0 / total
            table = np.empty((*[2 if w else 1 for w in wanted], len(X)))
            for k in range(self.arity):
                if wanted[k]:
                    ratios[k] *= value
                    ratios[k] *= self.weights[k]
            table[(0,) * self.arity] = value
            for index in np.ndindex(*table.shape[:-1]):
                taken = [k for k in range(self.arity) if index[k]]
                if taken:  # one more variable than an entry that is known
                    last = taken[-1]
                    before = (*index[:last], 0, *index[last + 1 :])
                    np.multiply(table[before], ratios[last], out=table[index])
                    if len(taken) > 1:
                        table[index] *= len(taken)
        return table

    def log_table_gradient(
        self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]
    ) -> list[Floats]:
        if any(w and s for w, s in zip(wanted, steps)) or not np.isfinite(X).all():
            return super().log_table_gradient(X, wanted, steps)
        a = self._exponents(X)
        ratios = np.exp(a - log_sum(np.vstack([np.zeros(len(X)), a])))
        shape = [2 if w else 1 for w in wanted]
        order = np.add.reduce(np.indices(shape), axis=0)[..., None]
        by_log_weight, by_shift = [], []
        for k in range(self.arity):
            inside = np.indices(shape)[k][..., None]
            slope = (order + 1.0) * ratios[k] - inside  # by -a_k
            by_log_weight.append(inside - slope * a[k])
            by_shift.append(-slope)  # by w_k loc_k
        if self.loc is None:
            return by_log_weight
        # free() holds log w and w loc: at fixed w loc, a = -(w x - w loc) moves with w by -w x.
        shifts = self.weights * self.loc
        moved = [g - s * b for g, s, b in zip(by_log_weight, shifts, by_shift)]
        return moved + by_shift

    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        # Given V ~ Exp(1) the variables are independent Gumbel: E exp(-V Σ e^(-a)) = 1 / (1 + Σ).
        frailty = random.exponential(size=(n, 1))
        X = np.log(frailty / random.exponential(size=(n, self.arity))) / self.weights
        return X if self.loc is None else X + self.loc

    def marginal(self, kept: Sequence[int]) -> LogisticCDF:
        at = list(kept)
        return LogisticCDF(self.weights[at], None if self.loc is None else self.loc[at])

    def free(self) -> Floats:
        if self.loc is None:
            return np.log(self.weights)
        return np.concatenate([np.log(self.weights), self.weights * self.loc])

    def freed(self, free: Floats) -> LogisticCDF:
        weights = np.exp(np.clip(free[: self.arity], -300.0, 300.0))
        loc = None if self.loc is None else free[self.arity :] / weights
        return LogisticCDF(weights, loc)

    def described(self) -> dict[str, Any]:
        said = {"weights": self.weights.tolist()}
        return said if self.loc is None else {**said, "loc": self.loc.tolist()}


class TableCDF(CDFFactor):
    """The cumulative table of ordinal variables with values 0, 1, ...

    Parameters
    ----------
    table : array-like of shape (K_1, ..., K_k)
        Entry (i, j, ...) is P(X_1 <= i, X_2 <= j, ...); the last entry is one.

    Examples
    --------
    >>> from octavo.graphical import TableCDF
    >>> TableCDF([[0.3, 0.5], [0.6, 1.0]]).cdf([[1, 0]])
    array([0.6])
    """

    def __init__(self, table: ArrayLike) -> None:
        found = np.array(table, dtype=float)
        if not 1 <= found.ndim <= MOST_VARIABLES or not found.size or not np.isfinite(found).all():
            raise ValueError("table must be an array of finite numbers, one axis a variable.")
        mass = found
        for axis in range(found.ndim):
            mass = np.diff(mass, axis=axis, prepend=0.0)
        if abs(found.flat[-1] - 1.0) > 1e-9 or mass.min() < -1e-9:
            raise ValueError(
                "table must be cumulative: its last entry one, and every rectangle of mass zero "
                f"or more; the last is {found.flat[-1]:g} and the smallest mass {mass.min():g}."
            )
        self.cumulative, self.arity = found, found.ndim
        self._mass = np.maximum(mass, 0.0)
        self._sums: dict[tuple[int, ...], Floats] = {}

    def _summed(self, index: tuple[int, ...]) -> Floats:
        """Return masses summed along the axes that are not differenced: nothing cancels."""
        if index not in self._sums:
            table = self._mass
            for axis, differenced in enumerate(index):
                if not differenced:
                    table = np.cumsum(table, axis=axis)
            self._sums[index] = table
        return self._sums[index]

    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        if any(wanted):
            raise ValueError(
                'A TableCDF has no density; its variables must be of the kind "ordinal".'
            )
        return self.log_table(X, wanted, [True] * self.arity)

    def log_table(self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]) -> Floats:
        if any(w and not s for w, s in zip(wanted, steps)):
            return self.log_jet(X, wanted)
        top = np.array(self._mass.shape) - 1
        at = np.clip(np.floor(X), -1, top).astype(np.intp)
        nothing, beyond = (at < 0).any(axis=1), top < X
        at = np.maximum(at, 0)
        shape = [2 if w else 1 for w in wanted]
        table = np.empty((*shape, len(X)))
        with np.errstate(divide="ignore"):
            for index in np.ndindex(*shape):
                table[index] = np.log(self._summed(index)[tuple(at.T)])
                over = beyond[:, np.flatnonzero(index)].any(axis=1)  # no mass above the top
                table[index][nothing | over] = -np.inf
        return table

    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        chance = self._mass.ravel() / self._mass.sum()
        cells = random.choice(chance.size, size=n, p=chance)
        return np.stack(np.unravel_index(cells, self._mass.shape), axis=1).astype(float)

    def marginal(self, kept: Sequence[int]) -> TableCDF:
        gone = [a for a in range(self.arity) if a not in kept]
        table = self._mass.sum(axis=tuple(gone))
        order = sorted(kept)
        table = table.transpose([order.index(a) for a in kept])
        for axis in range(table.ndim):
            table = np.cumsum(table, axis=axis)
        return TableCDF(table)

    def free(self) -> Floats:
        logs = np.log(np.maximum(self._mass.ravel(), 1e-12))
        return logs[1:] - logs[0]

    def freed(self, free: Floats) -> TableCDF:
        logs = np.concatenate([[0.0], free])
        mass = np.exp(logs - log_sum(logs)).reshape(self._mass.shape)
        for axis in range(mass.ndim):
            mass = np.cumsum(mass, axis=axis)
        return TableCDF(mass)

    def described(self) -> dict[str, Any]:
        return {"table": self.cumulative.tolist()}
