"""Corrected marginals of a linear combination a'x: every method of Sections 3 and 4.

Let q be the global Gaussian and t = a'x. Given t, the combination u_j of term j has mean
m_j + c_j (t - m_t) / v_t and variance v_j - c_j² / v_t, where c_j is its covariance with t. A term
whose variance is then zero depends on t alone (the paper's term i); the others are integrated out.
With eps_j = t_j / site_j the exact marginal is q(t) Π_local eps_j(t) c(t) (Eq. 12), and the methods
differ in how they approximate c(t) (Eq. 13).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.global_fits import (
    GlobalFit,
    ep_update,
    log_partition,
    taylor_sites,
)
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.sparse_gaussian.factor import NotPositiveDefinite
from octavo.engine.sparse_gaussian.likelihoods import Terms
from octavo.engine.sparse_gaussian.quadrature import LOG_2PI, hermite

EP_METHODS = ("ep-g", "ep-l", "ep-fact", "ep-1step", "ep-full", "ep-opw")
LAPLACE_METHODS = ("lm-g", "lm-l", "la-cm", "la-cm2", "la-tk", "la-fact")
_FAR = 12.0  # a grid ends where the log density has dropped by this much: 6e-6
_NEIGHBOUR = 1e-4  # squared correlations below this leave no visible correction


class Target(NamedTuple):
    """A combination t = a'x under q: mean, variance, covariances with all u; V a if known."""

    mean: float
    variance: float
    cov_u: Floats
    direction: Floats | None


def target_of(state: Any, a: Floats) -> Target:
    """Return the law of a'x under q, by one sparse solve."""
    column = state.covariance(a)
    variance = float(a @ column)
    return Target(float(a @ state.mean), variance, np.asarray(state.model.A @ column), a)


class Correction:
    """The pieces that all methods share, for one target.

    Parameters
    ----------
    fit : GlobalFit
    terms : Terms
    target : Target
    n_quad : int
    everything : bool
        Whether terms that are hardly correlated with the target are kept too.
    """

    def __init__(
        self, fit: GlobalFit, terms: Terms, target: Target, n_quad: int, everything: bool = False
    ) -> None:
        self.fit, self.terms, self.target, self.n_quad = fit, terms, target, n_quad
        _, var_u = fit.state.variances()
        self.slope = target.cov_u / target.variance
        left = var_u - target.cov_u * self.slope  # Var(u_j | t)
        is_local = left <= 1e-9 * var_u
        near = target.cov_u**2 > _NEIGHBOUR * target.variance * var_u
        if everything:
            near = np.ones_like(near)
        self.local: Indices = np.flatnonzero(is_local)
        self.others: Indices = np.flatnonzero(near & ~is_local)
        self.left = np.maximum(left, 1e-300)
        self.local_terms = terms.take(self.local)
        self.other_terms = terms.take(self.others)

    def given(self, t: Floats, which: Indices) -> Floats:
        """Return the means of u_j given t, of shape (t, which)."""
        gap = (np.asarray(t) - self.target.mean)[:, None]  # the conditional mean of Section 4.1.2
        return self.fit.state.mean_u[which] + self.slope[which] * gap

    def log_eps(self, terms: Terms, u: Floats, which: Indices) -> Floats:
        """Return log t_j - log site_j."""
        h, q = self.fit.h[which], self.fit.q[which]
        # log ε_j = log t_j - log site_j, after Eq. (12)
        return terms.log_density(u) - h * u + 0.5 * q * u * u

    def log_gaussian(self, t: Floats) -> Floats:
        gap = t - self.target.mean
        # q(t) of Eq. (12)
        return -0.5 * (gap**2 / self.target.variance + LOG_2PI + np.log(self.target.variance))

    def log_local(self, t: Floats) -> Floats:
        """Return Σ log eps_j over the terms that t determines."""
        if not self.local.size:
            return np.zeros(np.shape(t))
        u = self.given(t, self.local)
        # the direct correction of Eq. (12): EP-L and LM-L stop here
        return np.asarray(self.log_eps(self.local_terms, u, self.local).sum(axis=1))

    # --- factorised corrections -----------------------------------------------------------

    def removed(self, mean: Floats, power: float = 1.0) -> tuple[Floats, Floats, Floats, Any]:
        """Return q(u_j|t) / site_j^power as a Gaussian: its mean, variance, log scale, validity."""
        var = self.left[self.others]
        h, q = power * self.fit.h[self.others], power * self.fit.q[self.others]
        precision = 1.0 / var - q  # q(u_j | t) with the site taken out: precision, then mean
        valid = precision > 1e-12 / var
        new_var = 1.0 / np.where(valid, precision, 1.0 / var)
        new_mean = new_var * (mean / var - np.where(valid, h, 0.0))
        # N(u; mean, var) exp(-hu + qu²/2), completed to a square about the mean given t.
        gap = new_mean - mean
        log_scale = 0.5 * np.log(new_var / var) - h * mean + 0.5 * q * mean**2
        log_scale = log_scale + 0.5 * gap**2 / new_var
        return new_mean, new_var, np.where(valid, log_scale, 0.0), valid

    def log_masses(self, t: Floats, power: float = 1.0) -> tuple[Floats, Floats, Floats]:
        """Return log ∫ q(u_j|t) eps_j^power du_j with mean and variance of that density."""
        mean = self.given(t, self.others)
        new_mean, new_var, log_scale, valid = self.removed(mean, power)
        var = np.broadcast_to(new_var, new_mean.shape)
        found = self.other_terms.tilted(new_mean, var, power, self.n_quad)
        # no proper Gaussian is left: no correction at power 1, no bound at others
        log_mass = np.where(valid, found.log_mass + log_scale, 0.0 if power == 1.0 else np.inf)
        return log_mass, found.mean, found.variance

    def mean_log_eps(self, t: Floats) -> Floats:
        """Return ∫ q(u_j|t) log eps_j du_j."""
        mean = self.given(t, self.others)
        nodes, weights = hermite(max(self.n_quad, 64))
        sd = np.sqrt(self.left[self.others])
        out = np.zeros_like(mean)
        for node, weight in zip(nodes, weights, strict=True):
            u = mean + sd * node
            out += weight * self.log_eps(self.other_terms, u, self.others)
        return out

    def own_log_masses(self) -> tuple[Floats, Floats]:
        """Return log ∫ q(u_j) eps_j du_j, which scales eps_j: of the local terms, of the others."""
        _, var_u = self.fit.state.variances()
        return tuple(
            _log_mass(self.fit, terms, which, var_u, self.n_quad)
            for terms, which in (
                (self.local_terms, self.local),
                (self.other_terms, self.others),
            )
        )  # type: ignore[return-value]

    def fact(self, t: Floats) -> Floats:
        """EP-FACT (Section 4.2, α = 1): the product of one-dimensional integrals."""
        return np.asarray(self.log_masses(t)[0].sum(axis=1))  # Section 4.2: c^(α) at α = 1

    def la_fact(self, t: Floats) -> Floats:
        """LA-FACT: each integral by Laplace's method at the mean given t."""
        u = self.given(t, self.others)
        _, second = self.other_terms.derivatives(u)
        # -∂² of log q(u_j | t) ε_j, over the precision of q(u_j | t)
        bend = 1.0 - self.left[self.others] * (second + self.fit.q[self.others])
        values = self.log_eps(self.other_terms, u, self.others)
        return np.asarray((values - 0.5 * np.log(np.maximum(bend, 1e-300))).sum(axis=1))

    # --- corrections that keep the correlations ------------------------------------------

    def _integral(self, t: float, h: Floats, q: Floats) -> tuple[float, Any, Floats, float, float]:
        """Return log ∫ δ(a'x - t) p0 Π sites, the state, A V a, and law of t under these sites."""
        state = self.fit.state.model.gaussian(h, q)
        a = self.target.direction
        column = state.covariance(a)
        mean, variance = float(a @ state.mean), float(a @ column)
        if not variance > 0:
            raise NotPositiveDefinite(0)
        value = state.log_integral  # log ∫ p0 Π sites, then the density of t under it
        value -= 0.5 * ((t - mean) ** 2 / variance + LOG_2PI + np.log(variance))
        return value, state, np.asarray(state.model.A @ column), mean, variance

    def _base(self, t: float) -> float:
        return self.fit.state.log_integral + float(self.log_gaussian(np.array([t]))[0])

    def one_step(self, t: float) -> tuple[float, Floats, Floats]:
        """EP-1STEP (Eq. 14): sites that match q(u_j|t) eps_j; log c(t) and those sites."""
        mean = self.given(np.array([t]), self.others)[0]
        var = self.left[self.others]
        log_mass, new_mean, new_var = (row[0] for row in self.log_masses(np.array([t])))
        h, q = self.fit.h.copy(), self.fit.q.copy()
        # Eq. (14): collapse to a Gaussian, divide by q(u_j | t)
        q[self.others] += 1.0 / new_var - 1.0 / var
        h[self.others] += new_mean / new_var - mean / var
        # the mass of Eq. (14), beside that of the new site under q(u_j | t)
        log_scale = log_mass + log_partition(mean, var) - log_partition(new_mean, new_var)
        value = self._integral(t, h, q)[0]
        return value - self._base(t) + float(log_scale.sum()), h, q

    def full(self, t: float, start: tuple[Floats, Floats]) -> float:
        """EP-FULL: EP to convergence for the terms other than the local, given t."""
        h, q = start
        step, last = 1.0, np.inf
        value, others = 0.0, self.others
        for _ in range(60):
            integral, state, cov_u, mean_t, var_t = self._integral(t, h, q)
            slope = cov_u[others] / var_t
            # moments of u_j given t under the present sites
            mean = state.mean_u[others] + slope * (t - mean_t)
            var = np.maximum(state.variances()[1][others] - slope * cov_u[others], 1e-300)
            args = (self.other_terms, mean, var, h[others], q[others], 1.0, self.n_quad)
            update = ep_update(*args)
            value = integral + float(update.log_terms.sum())
            if update.residual < 1e-5:
                break
            # damped, as the global EP
            step = max(0.6 * step, 0.1) if update.residual > last else min(1.05 * step, 1.0)
            last = update.residual
            h, q = h.copy(), q.copy()
            h[others] += step * (update.h - h[others])
            q[others] += step * (update.q - q[others])
        return value - self._base(t)

    def conditional_mean(self, t: float, second_order: bool) -> float:
        """LA-CM2: second-order expansion at the mean given t; LA-CM: without its linear part."""
        every = np.arange(self.slope.size)
        u = self.given(np.array([t]), every)[0]
        # second-order Taylor expansion at the conditional mean (Section 4.1.2)
        h, q = taylor_sites(self.terms, u)
        value, state, cov_u, mean_t, var_t = self._integral(t, h, q)
        value += float((self.terms.log_density(u) - h * u + 0.5 * q * u * u).sum())
        if not second_order:  # minus g'H⁻¹g/2, half the length of the Newton step left out
            first, _ = self.terms.derivatives(u)
            # ∇ log ε_j: at the conditional mean q itself has no slope
            pull = first - (self.fit.h - self.fit.q * u)
            move = state.mean_u + cov_u / var_t * (t - mean_t) - u
            value -= 0.5 * float(pull @ move)
        return value - self._base(t) - float(self.log_local(np.array([t]))[0])

    def tierney_kadane(self, t: float) -> float:
        """LA-TK (Eq. 10): the expansion at the conditional mode, found by Newton steps."""
        every = np.arange(self.slope.size)
        u = self.given(np.array([t]), every)[0]
        value, last, step = -np.inf, np.inf, 1.0
        for _ in range(100):
            # a Newton step towards the conditional mode x*(t) of Eq. (10)
            h, q = taylor_sites(self.terms, u)
            integral, state, cov_u, mean_t, var_t = self._integral(t, h, q)
            # Eq. (10), once the expansion stands at the mode
            value = integral + float((self.terms.log_density(u) - h * u + 0.5 * q * u * u).sum())
            move = state.mean_u + cov_u / var_t * (t - mean_t) - u
            size = float(np.abs(move * np.sqrt(np.maximum(q, 1e-12))).max(initial=0.0))
            if size < 1e-8:
                break
            step = max(0.5 * step, 0.05) if size > last else min(1.5 * step, 1.0)
            last = size
            u = u + step * move
        return value - self._base(t) - float(self.log_local(np.array([t]))[0])

    def log_correction(self, t: Floats, method: str) -> Floats:
        """Return log c(t) at several points, by name."""
        if method == "ep-fact":
            return self.fact(t)
        if method == "la-fact":
            return self.la_fact(t)
        single = {
            "ep-1step": lambda s: self.one_step(s)[0],
            "ep-full": self._full_from_one_step,
            "la-cm": lambda s: self.conditional_mean(s, False),
            "la-cm2": lambda s: self.conditional_mean(s, True),
            "la-tk": self.tierney_kadane,
        }[method]
        return np.array([_or_nan(single, s) for s in np.asarray(t)])

    def _full_from_one_step(self, t: float) -> float:
        _, h, q = self.one_step(t)
        return self.full(t, (h, q))


def _or_nan(function: Any, t: float) -> float:
    try:
        return float(function(float(t)))
    except NotPositiveDefinite:
        return float("nan")


def _log_mass(fit: GlobalFit, terms: Terms, which: Indices, var_u: Floats, n_quad: int) -> Floats:
    """Return log ∫ q(u_j) eps_j du_j with the marginal q(u_j)."""
    mean, var = fit.state.mean_u[which], var_u[which]
    h, q = fit.h[which], fit.q[which]
    precision = 1.0 / var - q
    valid = precision > 1e-12 / var
    cavity_var = 1.0 / np.where(valid, precision, 1.0 / var)
    cavity_mean = cavity_var * (mean / var - h)
    found = terms.tilted(cavity_mean, cavity_var, 1.0, n_quad)
    # g of the cavity less g of the marginal: the site's own mass
    scale = log_partition(cavity_mean, cavity_var) - log_partition(mean, var)
    return np.where(valid, found.log_mass + scale, 0.0)


# --- densities on grids -----------------------------------------------------------------------


def _jumps(correction: Correction) -> Floats:
    """Return the values of t at which a local term jumps or has a kink."""
    likelihood = correction.terms.likelihood
    if likelihood.smooth or not correction.local.size:
        return np.empty(0)
    at = correction.local_terms.data.get("y", np.zeros(correction.local.size))
    slope = correction.slope[correction.local]
    gap = at - correction.fit.state.mean_u[correction.local]
    return np.asarray(correction.target.mean + gap / slope)


def corrected_marginal(
    correction: Correction, method: str, n_grid: int = 17, n_fine: int = 801
) -> Marginal:
    """Return the marginal of the target by a method's name.

    The correction is found at `n_grid` points over four standard deviations either side, and on
    outwards while the density has not dropped by e⁻¹²; between them it is a cubic spline. What t
    determines alone, the Gaussian and the local terms, is exact at each of `n_fine` points.
    """
    mean, sd = correction.target.mean, np.sqrt(correction.target.variance)
    if method in ("ep-g", "lm-g"):
        x = mean + sd * np.linspace(-6.0, 6.0, n_fine)  # EP-G and LM-G: no correction
        return Marginal(x, np.exp(correction.log_gaussian(x)), method)
    log_base = _log_base(correction, method)
    values = _grid_values(correction, method)
    t = mean + sd * np.linspace(-4.0, 4.0, n_grid)
    c = values(t)
    for _ in range(8):
        t, c = _without_nan(t, c)
        log_f = log_base(t, c)
        top = log_f.max()
        step = sd
        left, right = log_f[0] > top - _FAR, log_f[-1] > top - _FAR
        if not (left or right):
            break
        more = []
        if left:
            more.append(t[0] - step * np.arange(2, 0, -1))
        if right:
            more.append(t[-1] + step * np.arange(1, 3))
        extra = np.concatenate(more)
        t, c = np.concatenate([t, extra]), np.concatenate([c, values(extra)])
        order = np.argsort(t)
        t, c = t[order], c[order]
    spline = CubicSpline(t, c)
    jumps = _jumps(correction)
    jumps = jumps[(jumps > t[0]) & (jumps < t[-1])]
    tiny = 1e-12 * sd
    x = np.sort(np.concatenate([np.linspace(t[0], t[-1], n_fine), jumps - tiny, jumps + tiny]))
    log_f = log_base(x, spline(x))
    top = log_f.max()
    if not np.isfinite(top):
        raise ValueError(f"The {method} marginal vanishes everywhere on its grid.")
    inside = np.flatnonzero(log_f > top - 30.0)
    cut = slice(max(inside[0] - 1, 0), inside[-1] + 2)
    return Marginal(x[cut], np.exp(log_f[cut] - top), method)


def _without_nan(t: Floats, c: Floats) -> tuple[Floats, Floats]:
    kept = np.isfinite(c)
    if kept.sum() < 4:
        raise ValueError("The correction could not be computed at four or more points.")
    return t[kept], c[kept]


def _grid_values(correction: Correction, method: str) -> Any:
    """Return the smooth part of a method's correction as a function of t."""
    if method in ("ep-l", "lm-l"):
        return lambda t: np.zeros(np.shape(t))
    if method == "ep-opw":
        _, scale = correction.own_log_masses()

        def sums(t: Floats) -> Floats:
            # First order in eps_j - 1 with every eps_j scaled to mean one under q.
            # Π ε_j - 1 to first order, without a difference of nearly equal numbers
            return np.asarray(np.expm1(correction.log_masses(t)[0] - scale).sum(axis=1))

        return sums
    return lambda t: correction.log_correction(np.asarray(t), method)


def _log_base(correction: Correction, method: str) -> Any:
    """Return the log density as a function of t and of the smooth part there."""
    if method != "ep-opw":
        # Eq. (12), c(t) by interpolation
        return lambda t, c: correction.log_gaussian(t) + correction.log_local(t) + c
    scale = float(correction.own_log_masses()[0].sum())

    def expanded(t: Floats, c: Floats) -> Floats:
        if correction.local.size:
            total = np.exp(correction.log_local(t) - scale) + c  # Section 4.3
        else:
            total = 1.0 + c  # the local term is one: its ε - 1 is absent
        with np.errstate(divide="ignore"):
            return correction.log_gaussian(t) + np.log(np.maximum(total, 0.0))

    return expanded


class CorrectionBounds(NamedTuple):
    """Bounds on the correction factor c(t) of a marginal: arrays `x`, `lower`, `upper`."""

    x: Floats
    lower: Floats
    upper: Floats


def correction_bounds(correction: Correction, n_grid: int = 17) -> CorrectionBounds:
    """Return c_lower and c_upper (Section 4.2), each eps_j scaled to mean one under q.

    The upper bound is infinite where its integral does not exist.
    """
    sd = np.sqrt(correction.target.variance)
    t = correction.target.mean + sd * np.linspace(-4.0, 4.0, n_grid)
    if not correction.others.size:
        return CorrectionBounds(t, np.ones_like(t), np.ones_like(t))
    lower, upper = _power_family(correction, t, np.array([0.0, correction.others.size]))
    return CorrectionBounds(t, lower, upper)


class CorrectionFamily(NamedTuple):
    """Factorised corrections c^(alpha)(t): arrays `x`, `alphas` and `values`, a row an alpha."""

    x: Floats
    alphas: Floats
    values: Floats


def correction_family(correction: Correction, alphas: Floats, n_grid: int = 17) -> CorrectionFamily:
    """Return c^(alpha) (Section 4.2): the lower bound at 0, EP-FACT at 1, the upper bound at n - 1.

    A value is infinite where one of its integrals does not exist.
    """
    sd = np.sqrt(correction.target.variance)
    t = correction.target.mean + sd * np.linspace(-4.0, 4.0, n_grid)
    if not correction.others.size:
        return CorrectionFamily(t, alphas, np.ones((alphas.size, t.size)))
    return CorrectionFamily(t, alphas, _power_family(correction, t, alphas))


def _power_family(correction: Correction, t: Floats, alphas: Floats) -> Floats:
    """Return the product of (int q(u_j | t) eps_j^alpha du_j)^(1 / alpha), a row an alpha."""
    _, scale = correction.own_log_masses()
    rows = []
    with np.errstate(over="ignore", invalid="ignore"):
        for alpha in alphas:
            if alpha == 0.0:
                logs = correction.mean_log_eps(t)  # α → 0: Jensen's lower bound (Section 4.2)
            else:
                # (∫ q(u_j | t) ε_j^α du_j)^(1/α), Section 4.2
                logs = correction.log_masses(t, float(alpha))[0] / alpha
            total = (logs - scale).sum(axis=1)
            rows.append(np.exp(np.where(np.isnan(total), np.inf, total)))
    return np.array(rows)
