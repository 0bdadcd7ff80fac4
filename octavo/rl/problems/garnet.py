"""Garnet problems: random finite MDPs with random features.

Reference: Geist and Scherrer (2014), "Off-policy learning with eligibility traces: a survey",
JMLR 15:289-333, section 5, after Archibald, McKinnon and Thomas (1995).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.processes.finite import FiniteMDP

__all__ = ["make_garnet"]

_MOST_DRAWS = 1000


def _transitions(n_states, n_actions, branching, rng):
    """Draw `branching` successors of every pair, with the gaps of uniform cuts as probabilities."""
    P = np.zeros((n_actions, n_states, n_states))
    cuts = np.sort(rng.uniform(size=(n_actions, n_states, branching - 1)), axis=2)
    gaps = np.diff(cuts, axis=2, prepend=0.0, append=1.0)
    # The first places of a random order are a draw without replacement.
    order = np.argsort(rng.uniform(size=P.shape), axis=2)[:, :, :branching]
    np.put_along_axis(P, order, gaps, axis=2)
    return P


@checked
def make_garnet(
    n_states=30,
    n_actions=2,
    branching=2,
    n_features=8,
    *,
    gamma=0.95,
    irreducible=True,
    random_state=None,
):
    """Draw a random MDP with random features.

    Each action leads from each state to `branching` states, chosen at random; their probabilities
    are the gaps that uniform cuts leave in [0, 1]. Rewards depend on the state, and they and the
    features are uniform in [0, 1].

    Parameters
    ----------
    n_states, n_actions : int, default=30, 2
        Size.
    branching : int, default=2
        Number of successors of a state and action.
    n_features : int, default=8
        Number of features.
    gamma : float, default=0.95
        Discount factor.
    irreducible : bool, default=True
        Whether to draw the transitions anew until every state can reach every other.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    FiniteMDP
        The problem; ``random_policy`` draws policies for it.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333, section 5.

    Examples
    --------
    >>> from octavo.rl import make_garnet
    >>> make_garnet(30, 2, 2, 8, random_state=0)
    FiniteMDP(n_states=30, n_actions=2, n_features=8, gamma=0.95)
    """
    for name, value in (
        ("n_states", n_states),
        ("n_actions", n_actions),
        ("n_features", n_features),
    ):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}.")
    if not 1 <= branching <= n_states:
        raise ValueError(f"branching must lie in 1..n_states = {n_states}, got {branching!r}.")
    rng = check_random_state(random_state)
    for _ in range(_MOST_DRAWS):
        P = _transitions(n_states, n_actions, branching, rng)
        if not irreducible or connected_components(P.sum(axis=0) > 0, connection="strong")[0] == 1:
            break
    else:
        raise ValueError(
            f"No irreducible chain in {_MOST_DRAWS} draws: with so few successors it is too "
            "unlikely. Raise branching or n_actions, or set irreducible=False."
        )
    R = rng.uniform(size=n_states)  # a reward for each state, U(0, 1)
    return FiniteMDP(P, R, gamma, features=rng.uniform(size=(n_states, n_features)))
