"""The two global approximations: Laplace's method (Section 2.1) and parallel EP (Section 2.2).

Both replace each term t_j(u_j) by a site exp(h_j u_j - q_j u_j²/2). Laplace takes the Taylor
expansion at the mode, EP the site that makes marginal and tilted moments equal. All sites are
updated at once, so that a step costs one sparse factor and one selected inverse.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.sparse_gaussian.factor import NotPositiveDefinite
from octavo.engine.sparse_gaussian.likelihoods import Terms
from octavo.engine.sparse_gaussian.quadrature import LOG_2PI


class GlobalFit(NamedTuple):
    """A global approximation.

    state : the Gaussian q(x).
    h, q : sites.
    log_evidence : log p(y), approximately.
    residual : EP: largest difference of tilted and marginal moments in units of the marginal
        (mean in standard deviations, relative variance); Laplace: last step in the same units.
    """

    method: str
    state: Any
    h: Floats
    q: Floats
    log_evidence: float
    residual: float
    n_iter: int
    converged: bool


def log_partition(mean: Floats, variance: Floats) -> Floats:
    """Return g(m, v) = m²/(2v) + log(2πv)/2."""
    return 0.5 * (mean * mean / variance + LOG_2PI + np.log(variance))


# --- Laplace ----------------------------------------------------------------------------------


def taylor_sites(terms: Terms, u: Floats) -> tuple[Floats, Floats]:
    """Return the sites of the second-order expansion of log t_j at u."""
    first, second = terms.derivatives(u)
    q = -second
    return first + q * u, q  # Section 2.1: h̃ = (log t)' - u (log t)'', q̃ = -(log t)''


def laplace_fit(
    model: Any, terms: Terms, tol: float, max_iter: int, start: Floats | None = None
) -> GlobalFit:
    """Return the Laplace approximation by Newton steps with backtracking (Eq. 5)."""
    m = model.A.shape[0]
    u = np.zeros(m) if start is None else start
    point, value = None, -np.inf
    residual, converged, n_iter = np.inf, False, 0
    q_guard = 1e-8 / max(model.prior_variance(), 1e-8)
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        first, second = terms.derivatives(u)
        # Away from the mode a term may curve upwards (Student's t): then its slope alone steers.
        q = np.where(-second > q_guard, -second, np.maximum(q_guard, np.abs(second) * 1e-3))
        state = model.gaussian(first + q * u, q)
        target = model.coordinates(state)
        point, u_new, value = _line_search(model, terms, point, target, u, value)
        # the step in the site's own standard deviations
        residual = float(np.abs(np.sqrt(q) * (u_new - u)).max(initial=0.0))
        u = u_new
        if residual <= max(tol, 1e-12):
            converged = True
            break
    h, q = taylor_sites(terms, u)
    state = model.gaussian(h, q)
    u = state.mean_u
    log_evidence = state.log_integral
    # Eq. (5): log p at the mode, beside -½ log of the Hessian in the integral
    log_evidence += float((terms.log_density(u) - h * u + 0.5 * q * u * u).sum())
    return GlobalFit("laplace", state, h, q, log_evidence, residual, n_iter, converged)


def _line_search(
    model: Any, terms: Terms, point: Any, target: Floats, u: Floats, value: float
) -> tuple[Floats, Floats, float]:
    """Return the point on the way to `target` at which the log posterior has not fallen."""

    def height(x: Floats) -> tuple[Floats, float]:
        there = model.at(x)
        return there, float(terms.log_density(there).sum()) + model.log_prior(x)

    step = 1.0
    for _ in range(40):
        trial = target if point is None else point + step * (target - point)
        there, found = height(trial)
        if np.isfinite(found) and found >= value - 1e-9 * (1.0 + abs(value)):
            return trial, there, found
        if point is None:  # no start to go back to: shrink towards the prior's centre
            target = 0.5 * target
        step *= 0.5
    if point is None:
        raise ValueError("The log density is not finite anywhere near the prior's mean.")
    return point, u, value


# --- expectation propagation ------------------------------------------------------------------


class _Update(NamedTuple):
    h: Floats
    q: Floats
    residual: float
    log_terms: Floats  # log Z_j + g(cavity) - g(marginal)


def ep_update(
    terms: Terms,
    mean: Floats,
    variance: Floats,
    h: Floats,
    q: Floats,
    power: float,
    n_quad: int,
) -> _Update:
    """Return the sites that match the tilted moments, for all terms at once (Eqs. 15, 16)."""
    # Appendix C.2, with power α
    precision = 1.0 / variance - power * q  # of the cavity
    valid = precision > 1e-12 / variance
    cavity_var = 1.0 / np.where(valid, precision, 1.0 / variance)
    cavity_mean = cavity_var * (mean / variance - power * np.where(valid, h, 0.0))
    log_mass, new_mean, new_var = terms.tilted(cavity_mean, cavity_var, power, n_quad)
    valid &= np.isfinite(log_mass) & np.isfinite(new_mean) & (new_var > 0)
    safe_var = np.where(valid, new_var, 1.0)
    new_q = (1.0 / safe_var - 1.0 / cavity_var) / power  # Eq. (15)
    # Eq. (16)
    new_h = (np.where(valid, new_mean, 0.0) / safe_var - cavity_mean / cavity_var) / power
    if terms.likelihood.concave:
        # (a log-concave term has a tilted variance below the cavity's)
        new_q = np.maximum(new_q, 0.0)  # exact arithmetic gives no other sign
    gaps = np.where(valid, np.abs(new_mean - mean) / np.sqrt(variance), 1.0)
    spread = np.where(valid, np.abs(new_var / variance - 1.0), 1.0)
    residual = float(np.maximum(gaps, spread).max(initial=0.0))
    # Appendix C.3, a term of the evidence
    log_terms = log_mass + log_partition(cavity_mean, cavity_var) - log_partition(mean, variance)
    return _Update(np.where(valid, new_h, h), np.where(valid, new_q, q), residual, log_terms)


def start_sites(model: Any, terms: Terms, max_iter: int) -> tuple[Floats, Floats]:
    """Return where EP starts: Laplace's sites where there are any, else weak ones at y."""
    m = model.A.shape[0]
    if terms.likelihood.smooth:
        try:
            fit = laplace_fit(model, terms, 1e-2, min(max_iter, 50))
            if (fit.q >= 0).all():
                return fit.h, fit.q
            return np.where(fit.q > 0, fit.h, 0.0), np.maximum(fit.q, 0.0)
        except (NotPositiveDefinite, ValueError):
            pass
    scale = getattr(terms.likelihood, "scale", None)
    if scale is not None:  # a density about y
        q = np.full(m, 0.5 / scale**2)
        return q * terms.data["y"], q
    q = np.full(m, 1.0 / model.prior_variance())
    return q * terms.data.get("sign", np.zeros(m)) * np.sqrt(model.prior_variance()), q


def ep_fit(
    model: Any,
    terms: Terms,
    *,
    power: float = 1.0,
    damping: float | str = "auto",
    tol: float = 1e-6,
    max_iter: int = 200,
    n_quad: int = 32,
    start: tuple[Floats, Floats] | None = None,
    on_step: Any = None,
) -> GlobalFit:
    """Return the EP approximation.

    `damping` is the part of each update that is taken; "auto" starts at one, cuts it by a
    third when the residual has grown and lets it recover slowly.
    """
    h, q = start_sites(model, terms, max_iter) if start is None else start
    step = 1.0 if damping == "auto" else float(damping)
    best = np.inf
    state: Any = None
    update: _Update | None = None
    iteration = 0
    previous = (h, q)
    for iteration in range(1, max_iter + 1):
        for _ in range(30):
            try:
                state = model.gaussian(h, q)
                _, var_u = state.variances()
                break
            except NotPositiveDefinite:  # half-way back to sites that had a Gaussian
                if iteration == 1:
                    raise
                h, q = 0.5 * (h + previous[0]), 0.5 * (q + previous[1])
                step = max(0.5 * step, 0.02) if damping == "auto" else step
        update = ep_update(terms, state.mean_u, var_u, h, q, power, n_quad)
        if on_step is not None:
            on_step(iteration, update.residual)
        if update.residual <= tol:
            break
        if damping == "auto":
            # damping is not in the paper: undamped parallel updates may cycle
            step = max(0.67 * step, 0.05) if update.residual > best else min(1.05 * step, 1.0)
        best = update.residual
        previous = (h, q)
        # a damped step in natural parameters
        h, q = h + step * (update.h - h), q + step * (update.q - q)
    assert update is not None
    h, q = previous if update.residual > tol else (h, q)
    log_evidence = state.log_integral + float(update.log_terms.sum()) / power  # Appendix C.3
    converged = update.residual <= tol
    return GlobalFit("ep", state, h, q, log_evidence, update.residual, iteration, converged)


def global_fit(
    method: str,
    model: Any,
    terms: Terms,
    *,
    power: float,
    damping: float | str,
    tol: float,
    max_iter: int,
    n_quad: int,
    start: Any = None,
    quiet: bool = False,
    on_step: Any = None,
) -> GlobalFit:
    """Return the approximation by name; a fit that has not converged warns with its residual."""
    if method == "laplace":
        begin = None if start is None else start[2]
        fit = laplace_fit(model, terms, tol, max_iter, begin)
    else:
        begin = None if start is None else start[:2]
        try:
            fit = ep_fit(
                model,
                terms,
                power=power,
                damping=damping,
                tol=tol,
                max_iter=max_iter,
                n_quad=n_quad,
                start=begin,
                on_step=on_step,
            )
        except NotPositiveDefinite:
            if begin is None:
                raise
            return global_fit(
                method,
                model,
                terms,
                power=power,
                damping=damping,
                tol=tol,
                max_iter=max_iter,
                n_quad=n_quad,
                quiet=quiet,
            )
    if not fit.converged and not quiet:
        name = "EP" if method == "ep" else "Laplace's method"
        warnings.warn(
            f"{name} did not converge in {max_iter} iterations: its residual is "
            f"{fit.residual:.2g}, not {tol:g}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return fit
