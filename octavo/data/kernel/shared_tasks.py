"""Tasks that share which features matter, and binary data of an Ising model.

Data for Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", JMLR 12: Sections 6
and 12. The text gives no sizes of couplings; those here are named in the docstrings.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["IsingData", "SharedTasks", "make_ising", "make_shared_sparse_tasks"]

_CELLS = 10**8  # numbers in a table; more are refused
_ENUMERATED = 16  # nodes up to which all states are listed
_SWEEPS = 200  # of Gibbs sampling before a row is kept


class SharedTasks(NamedTuple):
    """Rows X, labels y, the task of each row, noiseless scores, coef (tasks first), informative."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray
    scores: np.ndarray
    coef: np.ndarray
    informative: np.ndarray


class IsingData(NamedTuple):
    """Binary rows X, the true adjacency (bool), couplings (symmetric) and fields of the nodes."""

    X: np.ndarray
    adjacency: np.ndarray
    couplings: np.ndarray
    fields: np.ndarray


@checked
@validate_params(
    {
        "n_tasks": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_informative": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_shared_sparse_tasks(
    n_tasks=10, n_samples=40, n_features=50, *, n_informative=5, noise=0.5, random_state=None
):
    """Draw binary classification tasks that need the same few features, each in its own way.

    Features are standard normal. All tasks use the same `n_informative` features, drawn at random,
    with standard normal coefficients of their own; a label is the sign of the score plus normal
    noise. Every task has rows of both classes.

    Parameters
    ----------
    n_tasks : int, default=10
        Tasks.
    n_samples : int, default=40
        Rows of each task.
    n_features : int, default=50
        Features.
    n_informative : int, default=5
        Features that matter, in all tasks.
    noise : float, default=0.5
        Standard deviation of the noise on the score.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    SharedTasks
        ``X``, ``y`` (0 or 1), ``task`` (from 0 on), ``scores`` without noise, ``coef`` of shape
        (n_tasks, n_features), ``informative`` (sorted columns).

    Examples
    --------
    >>> from octavo.data import make_shared_sparse_tasks
    >>> tasks = make_shared_sparse_tasks(n_tasks=3, n_samples=20, random_state=0)
    >>> tasks.X.shape, tasks.informative.tolist()
    ((60, 50), [2, 10, 11, 28, 41])
    """
    if n_informative > n_features:
        raise ValueError(
            f"n_informative={n_informative} features cannot be drawn from n_features={n_features}."
        )
    if n_tasks * n_samples * n_features > _CELLS:
        raise ValueError(
            f"{n_tasks * n_samples} x {n_features} numbers are too many; at most {_CELLS} are "
            "drawn."
        )
    if noise > 1e100:
        raise ValueError(f"noise is too large for floating point, got {noise}.")
    rng = check_random_state(random_state)
    informative = np.sort(rng.permutation(n_features)[:n_informative])
    coef = np.zeros((n_tasks, n_features))
    coef[:, informative] = rng.standard_normal((n_tasks, n_informative))
    X = rng.standard_normal((n_tasks, n_samples, n_features))
    scores = np.einsum("mtd,md->mt", X, coef)
    noisy = scores + noise * rng.standard_normal(scores.shape)
    y = (noisy > 0.0).astype(np.int64)
    for m in np.flatnonzero(y.min(axis=1) == y.max(axis=1)):
        y[m, noisy[m].argmax()], y[m, noisy[m].argmin()] = 1, 0
    return SharedTasks(
        X.reshape(-1, n_features),
        y.ravel(),
        np.repeat(np.arange(n_tasks), n_samples),
        scores.ravel(),
        coef,
        informative,
    )


@checked
@validate_params(
    {
        "n_nodes": [Interval(Integral, 2, 1000, closed="both")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "edge_probability": [Interval(Real, 0, 1, closed="both")],
        "strength": [Interval(Real, 0, 1e3, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_ising(n_nodes=5, n_samples=60, *, edge_probability=0.5, strength=2.0, random_state=None):
    """Draw binary rows from a random Ising model, p(x) ∝ exp(Σ η_m x_m + Σ_{m<n} θ_mn x_m x_n).

    Each pair of nodes is an edge with `edge_probability`, of coupling ± `strength`; the field of a
    node is minus half the sum of its couplings, so that zeros and ones are equally likely. Up to
    16 nodes the states are listed and rows are exact independent draws; beyond, each row is the
    end of a Gibbs chain of its own of 200 sweeps.

    Parameters
    ----------
    n_nodes : int, default=5
        Nodes, at most 1000.
    n_samples : int, default=60
        Rows.
    edge_probability : float, default=0.5
        Probability of an edge; at least one edge and one missing edge are made where possible.
    strength : float, default=2.0
        Size of the couplings.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    IsingData
        ``X`` of 0 and 1, the true ``adjacency``, ``couplings`` and ``fields``.

    Examples
    --------
    >>> from octavo.data import make_ising
    >>> data = make_ising(random_state=0)
    >>> data.X.shape, int(data.adjacency.sum()) // 2
    ((60, 5), 3)
    """
    if n_nodes * n_samples > _CELLS:
        raise ValueError(f"{n_samples} x {n_nodes} numbers are too many; at most {_CELLS}.")
    rng = check_random_state(random_state)
    upper = np.triu_indices(n_nodes, 1)
    present = rng.uniform(size=len(upper[0])) < edge_probability
    alike = present.all() or not present.any()
    if alike and 0.0 < edge_probability < 1.0 and len(present) > 1:
        present[rng.randint(len(present))] ^= True
    values = np.where(rng.uniform(size=len(present)) < 0.5, -strength, strength) * present
    couplings = np.zeros((n_nodes, n_nodes))
    couplings[upper] = values
    couplings += couplings.T
    fields = -0.5 * couplings.sum(axis=1)
    draw = _draw_states if n_nodes <= _ENUMERATED else _draw_gibbs
    X = draw(couplings, fields, n_samples, rng)
    return IsingData(X, couplings != 0.0, couplings, fields)


def ising_states(couplings, fields):
    """Return all states of an Ising model, a row each, and their probabilities."""
    n_nodes = len(fields)
    states = (np.arange(2**n_nodes)[:, None] >> np.arange(n_nodes)) & 1
    energy = states @ fields + 0.5 * np.einsum("im,mn,in->i", states, couplings, states)
    weights = np.exp(energy - energy.max())
    return states, weights / weights.sum()


def _draw_states(couplings, fields, n_samples, rng):
    states, probabilities = ising_states(couplings, fields)
    return states[rng.choice(len(states), size=n_samples, p=probabilities)]


def _draw_gibbs(couplings, fields, n_samples, rng):
    X = rng.randint(2, size=(n_samples, len(fields)))
    for _ in range(_SWEEPS):
        for m in range(len(fields)):
            rise = fields[m] + X @ couplings[m]
            X[:, m] = rng.uniform(size=n_samples) < 0.5 * (1.0 + np.tanh(0.5 * rise))
    return X
