"""Planning where the state is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.dynamic_programs.value_iteration import iterate_policies, stack_rows
from octavo.engine.estimators.checked import checked
from octavo.rl.processes.finite import FiniteMDP, as_rewards

__all__ = ["solve_mdp"]


def going_on(mdp: Any) -> list[sp.csr_array]:
    """Return the transitions of each action without what terminal states would do."""
    alive = sp.diags_array((~mdp.terminal).astype(float))
    return [sp.csr_array(alive @ sp.csr_array(P) @ alive) for P in mdp.P]


@checked
def solve_mdp(mdp: FiniteMDP, R: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return optimal values and an optimal policy, by policy iteration.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    R : array-like, default=None
        Another reward than the model's, in any of its shapes.

    Returns
    -------
    values : ndarray of shape (n_states,)
        Optimal values; zero in terminal states.
    policy : ndarray of int of shape (n_states,)
        An action for each state.

    Examples
    --------
    >>> from octavo.rl import FiniteMDP, solve_mdp
    >>> mdp = FiniteMDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 0], [1, 0]], gamma=0.5)
    >>> [part.tolist() for part in solve_mdp(mdp)]
    [[1.0, 2.0], [1, 0]]
    """
    if not isinstance(mdp, FiniteMDP):
        raise ValueError(f"Expected a FiniteMDP, got {type(mdp).__name__}.")
    if mdp.gamma >= 1:
        raise ValueError("Planning needs a discount below 1, got gamma = 1.")
    found = iterate_policies(stack_rows(going_on(mdp)), reward_table(mdp, R), mdp.gamma)
    return found.values, found.actions


def reward_table(mdp: FiniteMDP, R: Any = None) -> np.ndarray:
    """Return r(s, a), zero in terminal states."""
    if R is None:
        r = mdp.action_rewards()
    else:
        full = as_rewards(R, mdp.n_actions, mdp.n_states)
        constant = full.strides[2] == 0
        r = full[:, :, 0].T.copy() if constant else np.einsum("ast,ast->sa", mdp.P, full)
    return np.where(mdp.terminal[:, None], 0.0, r)
