"""Geweke's joint-distribution test: two ways to draw parameters and data that must agree.

The marginal-conditional simulator draws parameters from the prior and data from the model. The
successive-conditional simulator alternates the sampler under test, which changes the parameters
given the data, with fresh data given the parameters. If the sampler leaves the posterior
invariant, both have the same joint law, so that every statistic has the same mean. A wrong density,
a wrong proposal ratio or steps in a wrong order show as a z-score that grows with the draws.

Reference: J. Geweke (2004), "Getting it right: joint distribution tests of posterior simulators",
Journal of the American Statistical Association 99.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.diagnostics import effective_sample_size


class JointTest(NamedTuple):
    """Means of the statistics by both simulators.

    Attributes
    ----------
    z : ndarray of shape (n_statistics,)
        Their differences in standard errors.
    marginal, successive : ndarray of shape (n_statistics,)
        The means.
    ess : ndarray of shape (n_statistics,)
        Effective number of draws of the successive-conditional simulator.
    """

    z: Floats
    marginal: Floats
    successive: Floats
    ess: Floats


def geweke_joint_test(
    prior: Callable[[np.random.Generator], Any],
    simulate: Callable[[Any, np.random.Generator], Any],
    transition: Callable[[Any, np.random.Generator], Any],
    statistics: Callable[[Any], Any],
    n_draws: int,
    rng: np.random.Generator,
) -> JointTest:
    """Return z-scores of statistics of (parameters, data) between the two simulators.

    Parameters
    ----------
    prior : callable
        Takes a Generator and returns a state: parameters, with room for data.
    simulate : callable
        Takes a state and a Generator and returns the state with fresh data.
    transition : callable
        Takes a state and a Generator and returns the state after a step of the sampler.
    statistics : callable
        Takes a state and returns a vector.
    n_draws : int
        Number of draws of each simulator.
    rng : Generator
        Source of randomness.

    Returns
    -------
    test : JointTest
        |z| beyond four tells of an error in the sampler, the model or the test.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.mcmc.joint_test import geweke_joint_test
    >>> def posterior(state, rng):  # of a mean with a N(0, 1) prior and one N(mean, 1) datum
    ...     return rng.normal(state[1] / 2, np.sqrt(0.5)), state[1]
    >>> test = geweke_joint_test(
    ...     prior=lambda rng: (rng.normal(), 0.0),
    ...     simulate=lambda state, rng: (state[0], rng.normal(state[0], 1.0)),
    ...     transition=posterior,
    ...     statistics=lambda state: (state[0], state[0] ** 2),
    ...     n_draws=5000,
    ...     rng=np.random.default_rng(0),
    ... )
    >>> bool(np.abs(test.z).max() < 4)
    True
    """
    direct = np.array([statistics(simulate(prior(rng), rng)) for _ in range(n_draws)], dtype=float)
    state = simulate(prior(rng), rng)
    rows = []
    for _ in range(n_draws):
        state = simulate(transition(state, rng), rng)
        rows.append(statistics(state))
    chain = np.array(rows, dtype=float)
    ess = np.atleast_1d(effective_sample_size(chain[None]))
    spread = np.sqrt(direct.var(axis=0, ddof=1) / n_draws + chain.var(axis=0, ddof=1) / ess)
    gap = direct.mean(axis=0) - chain.mean(axis=0)
    z = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0.0)
    return JointTest(z, direct.mean(axis=0), chain.mean(axis=0), ess)
