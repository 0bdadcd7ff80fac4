"""The posterior of one variance, without the assumption that it is independent of the effects.

Mean field gives a variance an inverse-gamma law that is too narrow, as it takes the effects for
independent of it. Held at a number, the variance has no such law: the bound of Algorithm 1 is then
a lower bound of ln p(y | sigma^2), and its value times the prior, normalised over a line of
numbers, is the posterior. With a Gaussian likelihood of known variance it is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import polygamma

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.mixed_models.ascent import State, ascend
from octavo.bayes.mixed_models.designs import MixedDesign
from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.variance_components import held_at, log_half_cauchy

DEPTH = 12.0  # the line ends where the log density has fallen by this
LONGEST = 40  # nodes on either side
GROWTH = 1.25  # of the steps, from the sixth on


def spread_outwards(log_density: Callable[[float], float], centre: float, step: float) -> Floats:
    """Return nodes and log densities, a row each, out to where the density is negligible.

    Parameters
    ----------
    log_density : callable
        Of a number. It is asked for neighbours one after the other.
    centre : float
        Near the mode.
    step : float
        Distance of the first nodes; later ones are further apart.

    Returns
    -------
    table : ndarray of shape (2, n_nodes)
        Ascending nodes, and the log densities there.
    """
    table = {centre: log_density(centre)}
    for sign in (-1.0, 1.0):
        at, width = centre, step
        for k in range(LONGEST):
            at += sign * width
            table[at] = log_density(at)
            if table[at] < max(table.values()) - DEPTH:
                break
            width *= GROWTH if k >= 5 else 1.0
    nodes = np.array(sorted(table))
    return np.array([nodes, [table[node] for node in nodes]])


def variance_marginal(
    design: MixedDesign,
    state: State,
    which: int,
    *,
    offset: Floats,
    sigma_beta: float,
    max_iter: int,
    tol: float,
) -> Marginal:
    """Return the posterior of the variance of one term.

    Parameters
    ----------
    design : MixedDesign
        Fixed and random effects.
    state : State
        The end of the ascent in which the variance was free.
    which : int
        The term, which has one variance.
    offset : ndarray of shape (n,)
        Added to the linear predictor.
    sigma_beta : float
        Prior standard deviation of fixed effects.
    max_iter : int
        Most steps of an ascent.
    tol : float
        Its tolerance.

    Returns
    -------
    marginal : Marginal
        On some 2,000 points.
    """
    component = state.components[which]
    shape, rate = component.inverse_gammas[:, 0]
    centre = float(np.log(rate / shape))  # where q(σ²) is, on the log scale
    last = [state]

    def log_density(log_variance: float) -> float:
        """Of the log variance: bound, prior and the derivative of the exponential."""
        if abs(log_variance - centre) < 1e-12:
            last[0] = state
        variance = float(np.exp(log_variance))
        components = list(last[0].components)
        components[which] = held_at(component, variance)
        run = ascend(
            design,
            state.family,
            components,
            offset=offset,
            sigma_beta=sigma_beta,
            damping=1.0,
            max_iter=max_iter,
            tol=min(tol, 1e-5 / max(1.0, abs(state.lower_bound))),
            near=last[0],
        )
        last[0] = run.state
        prior = log_half_cauchy(np.array(variance), component.spread)
        # Algorithm 1's bound of ln p(y | σ²), the prior, dσ² / d ln σ²
        return run.state.lower_bound + float(prior) + log_variance

    # ln σ² has the variance ψ'(shape) under q
    nodes, heights = spread_outwards(
        log_density, centre, 0.75 * float(np.sqrt(polygamma(1, shape)))
    )
    fine = np.linspace(nodes[0], nodes[-1], 2001)
    curve = CubicSpline(nodes, heights)(fine)
    variances = np.exp(fine)
    # back from the log variance to the variance
    return Marginal(variances, np.exp(curve - curve.max()) / variances, "profile")
