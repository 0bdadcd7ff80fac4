"""Algorithm 1 for any family and any number of variance components.

The Gaussian of all coefficients is kept by its natural parameters, which have the form
C' diag(h) C + M and C't: a step of non-conjugate variational message passing (Eq. 7) replaces h by
-E l'' and t by E l' + h (C mu), so that a damped step mixes h, t and M, and costs one solution of a
least-squares problem.

Reference: M. P. Wand (2014), "Fully Simplified Multivariate Normal Updates in Non-Conjugate
Variational Message Passing", Journal of Machine Learning Research 15, Sections 4 and 5.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.mixed_models.designs import Coefficients, MixedDesign
from octavo.bayes.mixed_models.families import Family
from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.expected_likelihoods import ExpectedTerms
from octavo.engine.variational.variance_components import (
    LOG_2PI,
    VarianceComponent,
    as_vector,
    bound_terms,
    from_vector,
    updated,
)

FIRST_STEPS = 3  # of iteratively reweighted least squares, from which the ascent starts
HALVINGS = 40
SLOW = 0.5  # rises that shrink by less than this factor a step call for a leap
SLACK = 1e-11  # relative fall of the bound that rounding may cause


class Natural(NamedTuple):
    """Natural parameters of the Gaussian: C' diag(h) C + M and C't, M by fixed and random part."""

    h: Floats
    t: Floats
    beta_precision: float
    precisions: list[Floats]


class State(NamedTuple):
    """Where the ascent is."""

    natural: Natural
    coefficients: Coefficients
    components: list[VarianceComponent]
    family: Family
    terms: ExpectedTerms
    lower_bound: float


class Ascent(NamedTuple):
    """Where it ended: the last state, the trace of the bound, how, and the shortest step taken."""

    state: State
    lower_bounds: Floats
    n_iter: int
    converged: bool
    shortest: float


def second_moments(coefficients: Coefficients) -> list[Floats]:
    """Return E(sum of u_k u_k') of every term."""
    # ‖μ_u‖² + tr Σ_u of Algorithm 1
    return [
        mean.T @ mean + cov.sum(axis=0) for mean, cov in zip(coefficients.means, coefficients.covs)
    ]


def lower_bound(
    coefficients: Coefficients,
    components: list[VarianceComponent],
    family: Family,
    terms: ExpectedTerms,
    offset: Floats,
    sigma_beta: float,
) -> float:
    """Return the variational lower bound of ln p(y); with one term Algorithm 1's ln p(y; q)."""
    c = coefficients
    p = len(c.beta)
    d = p + sum(mean.size for mean in c.means)
    # yᵀCμ - 1ᵀw - Σ ln y! in the Poisson model
    total = family.log_likelihood(terms, offset + c.row_mean, c.row_variance)
    total -= 0.5 * p * (LOG_2PI + 2.0 * np.log(sigma_beta))
    total -= 0.5 * (c.beta @ c.beta + np.trace(c.beta_cov)) / sigma_beta**2  # E log N(β; 0, σ_β² I)
    total += 0.5 * d * (1.0 + LOG_2PI) - 0.5 * c.log_det  # entropy of the Gaussian
    for component, moment in zip(components, second_moments(c)):
        # E log p(u | σ²) p(σ² | a) p(a), and the entropies of q(σ²) and q(a)
        total += bound_terms(component, moment)
    return float(total)


def _mixed(old: Natural, new: Natural, length: float) -> Natural:
    if length == 1.0:
        return new
    keep = 1.0 - length  # a convex blend of precisions is positive definite
    return Natural(
        keep * old.h + length * new.h,
        keep * old.t + length * new.t,
        keep * old.beta_precision + length * new.beta_precision,
        [keep * a + length * b for a, b in zip(old.precisions, new.precisions)],
    )


def _settled(
    design: MixedDesign,
    natural: Natural,
    components: list[VarianceComponent],
    family: Family,
    offset: Floats,
    sigma_beta: float,
) -> State | None:
    """Return the state after the conjugate updates that follow a Gaussian step."""
    found = design.solve(*natural)  # Σ and μ of Algorithm 1
    if found is None:
        return None
    moments = second_moments(found)
    # μ_{1/σ²}, then μ_{1/a}: the bound is exact right after them
    components = [updated(c, moment) for c, moment in zip(components, moments)]
    m, v = offset + found.row_mean, found.row_variance
    family = family.refreshed(m, v)
    terms = family.terms(m, v)
    bound = lower_bound(found, components, family, terms, offset, sigma_beta)
    if not np.isfinite(bound):
        return None
    return State(natural, found, components, family, terms, bound)


def target(state: State, sigma_beta: float) -> Natural:
    """Return the natural parameters of a full step: both lines of Eq. (7), one w for both."""
    terms = state.terms
    # Cᵀ{y - w + w (Cμ)}: μ + Σ(D_μ S)ᵀ with the old μ's prior part cancelled
    return Natural(  # w, the curvature of Eq. (7): -2 vec⁻¹(D_vec(Σ) S) is Cᵀ diag(w) C + M
        terms.curvature,
        terms.slope + terms.curvature * state.coefficients.row_mean,
        sigma_beta**-2.0,
        [component.precision for component in state.components],
    )


def first_state(
    design: MixedDesign,
    family: Family,
    components: list[VarianceComponent],
    offset: Floats,
    sigma_beta: float,
) -> State:
    """Return a start: a few steps of least squares without the linear predictor's variance."""
    eta = family.start() - offset
    nothing = np.zeros_like(eta)
    found = None
    precisions = [c.precision for c in components]
    for _ in range(FIRST_STEPS):
        terms = family.terms(offset + eta, nothing)
        # a start needs Σ positive definite, whatever the family
        h = np.maximum(terms.curvature, 0.0)
        natural = Natural(h, terms.slope + h * eta, sigma_beta**-2.0, precisions)
        found = design.solve(*natural)
        if found is None:
            break
        eta = found.row_mean
    state = None
    if found is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            state = _settled(design, natural, components, family, offset, sigma_beta)
    if state is None:
        raise ValueError(
            "The likelihood is not finite at the start. Look for responses, offsets or columns of "
            "X that are huge."
        )
    return state


def _leap(
    design: MixedDesign,
    state: State,
    path: list[list[VarianceComponent]],
    offset: Floats,
    sigma_beta: float,
) -> State:
    """Return the state after a jump ahead along the last steps of the variances, if it is better.

    Small variances crawl, as they do in EM. The jump is the squared extrapolation of Varadhan and
    Roland (2008); where it does not raise the bound, the state stays.
    """
    if not state.components:
        return state
    places = [np.concatenate([as_vector(c) for c in components]) for components in path]
    first, second = places[1] - places[0], places[2] - places[1]
    bend = second - first
    size = float(np.linalg.norm(bend))
    if size == 0.0:
        return state
    # the length at which a linear iteration would have arrived
    reach = max(1.0, float(np.linalg.norm(first)) / size)
    vector = places[0] + 2.0 * reach * first + reach**2 * bend
    if not np.isfinite(vector).all() or np.abs(vector).max() > 100.0:
        return state
    ahead, at = [], 0
    for component in state.components:
        width = len(as_vector(component))
        ahead.append(from_vector(component, vector[at : at + width]))
        at += width
    with np.errstate(over="ignore", invalid="ignore"):
        natural = target(state._replace(components=ahead), sigma_beta)
        trial = _settled(design, natural, ahead, state.family, offset, sigma_beta)
    return trial if trial is not None and trial.lower_bound > state.lower_bound else state


def ascend(
    design: MixedDesign,
    # Algorithm 1 has full steps alone, which may lower the bound: these are halved until it rises.
    family: Family,
    components: list[VarianceComponent],
    *,
    offset: Floats,
    sigma_beta: float,
    damping: float,
    max_iter: int,
    tol: float,
    progress: Any = None,
    near: State | None = None,
) -> Ascent:
    """Climb the bound until it hardly rises.

    Parameters
    ----------
    design : MixedDesign
        Fixed and random effects.
    family : Family
        Responses.
    components : list of VarianceComponent
        Where the variances start.
    offset : ndarray of shape (n,)
        Added to the linear predictor.
    sigma_beta : float
        Prior standard deviation of fixed effects.
    damping : float
        Length of the first step that is tried. It is halved while the bound falls.
    max_iter : int
        Most steps.
    tol : float
        Stop when the bound rises by less than this, relative to its size.
    progress : FitProgress, optional
        Stepped once an iteration.
    near : State, optional
        The end of an ascent with other components, from which this one starts.

    Returns
    -------
    ascent : Ascent
        Its bound never falls.
    """
    state = None
    if near is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            natural = target(near._replace(components=components), sigma_beta)
            state = _settled(design, natural, components, near.family, offset, sigma_beta)
    if state is None:
        state = first_state(design, family, components, offset, sigma_beta)
    trace, converged, shortest = [state.lower_bound], False, 1.0
    rises = [np.inf]
    path = [state.components]
    while len(trace) <= max_iter and not converged:
        if len(path) == 3 and rises[-1] > SLOW * rises[-2]:
            state = _leap(design, state, path, offset, sigma_beta)
            path = [state.components]
        wanted = target(state, sigma_beta)
        length, found = damping, None
        for _ in range(HALVINGS):
            with np.errstate(over="ignore", invalid="ignore"):
                trial = _settled(
                    design,
                    _mixed(state.natural, wanted, length),
                    state.components,
                    state.family,
                    offset,
                    sigma_beta,
                )
            slack = SLACK * max(1.0, abs(state.lower_bound))
            if trial is not None and trial.lower_bound >= state.lower_bound - slack:
                found = trial
                break
            length *= 0.5
        if found is None:  # no step raises it: stationary up to rounding
            converged = True
            break
        shortest = min(shortest, length)
        rises.append(found.lower_bound - state.lower_bound)
        state = found
        path = [*path[-2:], state.components]
        trace.append(max(state.lower_bound, trace[-1]))
        converged = rises[-1] <= tol * abs(state.lower_bound) * length
        if progress is not None and progress.step():
            break
    return Ascent(state, np.array(trace), len(trace) - 1, converged, shortest)
