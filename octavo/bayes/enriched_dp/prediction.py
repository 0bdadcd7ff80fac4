"""Prediction from stored draws: weights of y-clusters at a new x, and mixtures over them.

Numerators are summed over all draws and divided once by the sum of all weights (Eq. 11 to 14): a
ratio of sums, since a draw under which x is likely counts for more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from octavo.bayes.enriched_dp.base_measure import log_prior_x
from octavo.bayes.enriched_dp.chain import Draws
from octavo.bayes.enriched_dp.columns import Plan, design_matrix, in_units
from octavo.bayes.enriched_dp.state import COUNT, PROBIT, Base
from octavo.engine.estimators.arrays import Floats, Ints

LOG_2PI = float(np.log(2.0 * np.pi))
CELLS = 4_000_000  # rows times clusters that are held at once


class Part(NamedTuple):
    """What is known of some rows.

    Attributes
    ----------
    rows : slice
        Which rows.
    weights : ndarray of shape (m, n_clusters)
        Of the y-clusters of all draws, up to a factor of the row.
    new : ndarray of shape (m, n_draws)
        Of a new y-cluster in each draw.
    eta : ndarray of shape (m, n_clusters, outputs)
        Linear predictors.
    eta_new : ndarray of shape (m, n_draws, outputs) or (m,)
        Of new y-clusters: of draws from the prior where the response has no conjugate one.
    spread : ndarray of shape (m,)
        1 + x C⁻¹ xᵀ.
    """

    rows: slice
    weights: Floats
    new: Floats
    eta: Floats
    eta_new: Floats
    spread: Floats

    @property
    def total(self) -> Floats:
        """Sum of all weights of a row."""
        return self.weights.sum(axis=1) + self.new.sum(axis=1)


class Predictor:
    """Weights and linear predictors of new rows under stored draws.

    Parameters
    ----------
    draws : Draws
        Of all chains.
    base : Base
        The base measure.
    plan : Plan
        Of the columns.
    n : int
        Number of rows in fit.
    seed : int
        Of draws for missing entries, and of new clusters without a conjugate prior.
    """

    def __init__(self, draws: Draws, base: Base, plan: Plan, n: int, seed: int) -> None:
        self.draws, self.base, self.plan, self.seed = draws, base, plan, seed
        self.first_y = np.r_[0, np.cumsum(draws.k)]
        owner = draws.owner + np.repeat(self.first_y[:-1], draws.kx)
        self._order = np.argsort(owner, kind="stable")
        owner = owner[self._order]
        self._starts = np.searchsorted(owner, np.arange(self.first_y[-1]))
        self._owner = owner
        self.prec, self.mu = draws.prec[self._order], draws.mu[self._order]
        self._table = draws.table[self._order]
        plain = bool(base.modes[2])
        # n_j / (α_θ + n) of ω_j, Eq. (11)
        mass = draws.n_y / (n + np.repeat(draws.alpha_theta, draws.k))
        below = draws.n_y + (0.0 if plain else draws.alpha_psi)
        # n_{l|j} / (α_ψ + n_j) beside it: the x-cluster's share in ω_j, Eq. (11)
        self._x_mass = np.log((mass / below)[owner] * draws.n_x[self._order])
        # the share of h_x(x) in ω_j, Eq. (11): a new x-cluster
        self._empty = np.zeros_like(mass) if plain else mass * draws.alpha_psi / below
        # α_θ / (α_θ + n) of ω_{k+1}, Eq. (11)
        self._new = draws.alpha_theta / (n + draws.alpha_theta)
        self._prior_beta = self._prior_draws() if base.modes[0] > PROBIT else None

    def _prior_draws(self) -> Floats:
        d = self.base.prior.shape[1]
        rng = np.random.default_rng(self.seed)
        noise = rng.standard_normal((len(self.draws.k), int(self.base.modes[1]), d))
        factor = self.base.prior[d : 2 * d]
        return self.base.prior[-1] + np.linalg.solve(factor.T, noise.reshape(-1, d).T).T.reshape(
            noise.shape
        )

    def _log_x(self, values: Floats) -> Floats:
        """Return log K(x | ψ) of rows under all x-clusters, NaN skipped."""
        n_gaussian = self.mu.shape[1]
        x = values[:, :n_gaussian]
        seen = ~np.isnan(x)
        x = np.where(seen, x, 0.0)
        mask, prec = seen.astype(np.float64), self.prec
        # Σ prec (x - mu)² in three products; columns are in standard units
        logs = -0.5 * (x * x) @ prec.T + x @ (prec * self.mu).T
        logs += mask @ (0.5 * (np.log(prec) - LOG_2PI) - 0.5 * prec * self.mu**2).T
        others = () if self.base.others is None else self.base.others
        for g, (kind, start, _, _, _) in enumerate(others):
            entry, place = values[:, n_gaussian + g], int(start)
            known = ~np.isnan(entry)
            if kind == COUNT:
                part = np.outer(np.where(known, entry, 0.0), self._table[:, place])
                part -= np.outer(known, self._table[:, place + 1])
            else:
                codes = np.where(known, entry, 0.0).astype(int)
                part = np.where(known[:, None], self._table[:, place + codes].T, 0.0)
            logs += part
        return logs

    def parts(self, X: Floats) -> Iterator[Part]:
        """Yield weights and predictors of rows, some at a time."""
        values = in_units(X, self.plan)
        step = max(1, CELLS // max(len(self._owner), 1))
        for start in range(0, len(values), step):
            yield self._part(values[start : start + step], slice(start, start + step))

    def _part(self, values: Floats, rows: slice) -> Part:
        logs = self._log_x(values) + self._x_mass
        prior = log_prior_x(values, self.base)
        # one maximum for all draws: what is taken out cancels in the ratio of sums
        top = np.maximum(logs.max(axis=1), prior)
        shares = np.exp(logs - top[:, None])
        prior = np.exp(prior - top)
        weights = np.add.reduceat(shares, self._starts, axis=1)  # Σ_l of ω_j, Eq. (11)
        weights += np.outer(prior, self._empty)
        gaps = np.isnan(values).any(axis=1)
        d = self.plan.width
        filled = np.where(np.isnan(values), 0.0, values)
        design = design_matrix(filled, self.plan)
        flat = self.draws.beta.reshape(-1, d)
        eta = (design @ flat.T).reshape(len(values), -1, self.draws.beta.shape[1])
        for i in np.flatnonzero(gaps):
            options = np.log(np.maximum(shares[i], 1e-300))
            eta[i] = self._imputed(values[i], options, prior[i], rows.start + i)
        if self._prior_beta is None:
            eta_new = design @ self.base.prior[-1]
        else:
            eta_new = (design @ self._prior_beta.reshape(-1, d).T).reshape(
                len(values), -1, self.draws.beta.shape[1]
            )
        white = np.linalg.solve(self.base.prior[d : 2 * d], design.T)
        # ω_{k+1}, Eq. (11), and 1 + x C⁻¹ xᵀ
        return Part(
            rows, weights, np.outer(prior, self._new), eta, eta_new, 1.0 + (white**2).sum(axis=0)
        )

    def _imputed(self, x: Floats, options: Floats, prior: float, row: int) -> Floats:
        """Return predictors of a row with gaps: each y-cluster draws the missing entries.

        The x-cluster is drawn by its weight, then the entries from its kernel, so that averages
        over draws are those of the mixture.
        """
        rng = np.random.default_rng([self.seed, row])
        # the largest of noisy scores is a draw by their weights
        scores = options + rng.gumbel(size=options.size)
        best = np.maximum.reduceat(scores, self._starts)
        chosen = np.flatnonzero(scores == best[self._owner])
        chosen = chosen[np.searchsorted(self._owner[chosen], np.arange(best.size))]
        with np.errstate(divide="ignore"):
            empty = np.log(self._empty * prior) + rng.gumbel(size=best.size)
        is_new = empty > best
        values = np.tile(x, (best.size, 1))
        for h in np.flatnonzero(np.isnan(x)):
            values[:, h] = self._drawn_entries(int(h), chosen, is_new, rng)
        design = design_matrix(values, self.plan)
        return np.einsum("td,tqd->tq", design, self.draws.beta)

    def _drawn_entries(self, h: int, chosen: Ints, is_new: Any, rng: Any) -> Floats:
        mu0, c, a, b = self.base.gauss
        if h < mu0.size:
            prec = rng.gamma(a[h], 1.0 / b[h], chosen.size)
            # μ_h and x_h of a new x-cluster at once: σ² (1 + 1 / c)
            fresh = mu0[h] + rng.standard_normal(chosen.size) * np.sqrt((1.0 + 1.0 / c[h]) / prec)
            noise = rng.standard_normal(chosen.size)
            return np.where(
                is_new, fresh, self.mu[chosen, h] + noise / np.sqrt(self.prec[chosen, h])
            )
        assert self.base.others is not None
        kind, start, width, one, two = self.base.others[h - mu0.size]
        place = int(start)
        if kind == COUNT:
            rate = np.where(
                is_new, rng.gamma(one, 1.0 / two, chosen.size), self._table[chosen, place + 1]
            )
            return rng.poisson(np.minimum(rate, 1e15)).astype(np.float64)
        probs = np.exp(self._table[chosen, place : place + int(width)])
        probs[is_new] = 1.0 / width
        steps = np.cumsum(probs, axis=1)
        u = rng.random(chosen.size)[:, None] * steps[:, -1:]
        return np.minimum((u > steps).sum(axis=1), width - 1.0)

    def by_draw(self, values: Floats) -> Floats:
        """Return sums over the y-clusters of each draw."""
        return np.add.reduceat(values, self.first_y[:-1], axis=1)


def weighted_quantiles(values: Floats, weights: Floats, levels: Any) -> Floats:
    """Return quantiles of weighted values along the last axis, one row of weights for all.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        Rows of values.
    weights : ndarray of shape (m, n)
        Their weights.
    levels : array-like of shape (q,)
        Probabilities.

    Returns
    -------
    quantiles : ndarray of shape (m, q)
        The smallest values with at least that share of the weight up to them.
    """
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    share = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    share /= share[:, -1:]
    levels = np.asarray(levels, dtype=np.float64)
    places = (share[:, :, None] < levels[None, None, :] - 1e-12).sum(axis=1)
    return np.take_along_axis(values, np.minimum(places, values.shape[1] - 1), axis=1)


def density_of(y: Floats, part: Part, predictor: Predictor, i: int, *, by_draw: bool = False):
    """Return the conditional density of a row on a grid in standard units.

    Parameters
    ----------
    y : ndarray of shape (n_grid,)
        Responses.
    part : Part
        Weights.
    predictor : Predictor
        The draws.
    i : int
        Which row of the part.
    by_draw : bool
        Return the density under each draw, and the weights of the draws, too.

    Returns
    -------
    density : ndarray of shape (n_grid,) or (n_draws, n_grid)
        Over all draws, or of each.
    """
    weights, scale = part.weights[i], np.sqrt(predictor.draws.noise)
    keep = weights > (0.0 if by_draw else 1e-15 * weights.max())
    z = (y[None, :] - part.eta[i, keep, 0][:, None]) / scale[keep][:, None]
    # ω_j K(y | x, θ_j) of Eq. (14)
    each = np.exp(-0.5 * z * z) * (weights[keep] / scale[keep] / np.sqrt(2.0 * np.pi))[:, None]
    fresh = np.exp(new_log_density(y, part, predictor.base, i))
    if not by_draw:
        total = weights.sum() + part.new[i].sum()  # ĉ of Eq. (14), over all draws
        return (each.sum(axis=0) + part.new[i].sum() * fresh) / total  # Eq. (14), divided once
    whole = np.zeros((weights.size, y.size))
    whole[keep] = each
    sums = np.add.reduceat(whole, predictor.first_y[:-1], axis=0)
    mass = np.add.reduceat(weights, predictor.first_y[:-1]) + part.new[i]
    return (sums + part.new[i][:, None] * fresh) / mass[:, None], mass


def new_log_density(y: Floats, part: Part, base: Base, i: int) -> Floats:
    """Return log h_y(y | x), the t law of a new y-cluster."""
    a, b = base.scalars[0], base.scalars[1]
    scale2 = 2.0 * b * part.spread[i]
    away2 = (y - part.eta_new[i]) ** 2 / scale2
    level = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(np.pi * scale2)
    return level - (a + 0.5) * np.log1p(away2)


def cdf_of(y: Floats, part: Part, predictor: Predictor) -> Floats:
    """Return the conditional distribution function of each row of a part, at a y of its own.

    Parameters
    ----------
    y : ndarray of shape (m,) or (m, n_grid)
        Responses in standard units.
    part : Part
        Weights of m rows.
    predictor : Predictor
        The draws.

    Returns
    -------
    cdf : ndarray like y
        Probabilities.
    """
    a, b = predictor.base.scalars[0], predictor.base.scalars[1]
    scale = np.sqrt(predictor.draws.noise)
    grid = y[:, None] if y.ndim == 1 else y
    out = np.empty(grid.shape)
    new = part.new.sum(axis=1)
    for i in range(len(grid)):
        weights = part.weights[i]
        keep = weights > 1e-15 * weights.max()
        z = (grid[i][None, :] - part.eta[i, keep, 0][:, None]) / scale[keep][:, None]
        # Eq. (14) with distribution functions in place of densities
        t = (grid[i] - part.eta_new[i]) / np.sqrt(b / a * part.spread[i])
        out[i] = (weights[keep] @ ndtr(z) + new[i] * stdtr(2.0 * a, t)) / (
            weights[keep].sum() + new[i]
        )
    return out[:, 0] if y.ndim == 1 else out


def quantiles_of(levels: Any, part: Part, predictor: Predictor, *, n_steps: int = 60) -> Floats:
    """Return quantiles of the response of each row of a part, by bisection.

    Parameters
    ----------
    levels : array-like of shape (q,)
        Probabilities.
    part : Part
        Weights of m rows.
    predictor : Predictor
        The draws.
    n_steps : int
        Halvings.

    Returns
    -------
    quantiles : ndarray of shape (m, q)
        In standard units.
    """
    levels = np.asarray(levels, dtype=np.float64)
    m, width = len(part.weights), 1.0
    middle = (part.weights * part.eta[:, :, 0]).sum(axis=1) / part.weights.sum(axis=1)
    middle = np.where(np.isfinite(middle), middle, part.eta_new)[:, None]
    low, high = np.repeat(middle - width, levels.size, 1), np.repeat(middle + width, levels.size, 1)
    for _ in range(200):
        below = cdf_of(low, part, predictor) > levels
        above = cdf_of(high, part, predictor) < levels
        if not below.any() and not above.any():
            break
        width *= 2.0
        low, high = np.where(below, low - width, low), np.where(above, high + width, high)
    for _ in range(n_steps):
        # bisection: the distribution function of Eq. (14) has no inverse in closed form
        half = 0.5 * (low + high)
        less = cdf_of(half, part, predictor) < levels
        low, high = np.where(less, half, low), np.where(less, high, half)
        if (high - low).max() < 1e-9 * (1.0 + np.abs(half).max()):
            break
    return (0.5 * (low + high)).reshape(m, levels.size)
