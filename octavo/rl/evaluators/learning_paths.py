"""How the coefficients of a policy evaluator develop as transitions come in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from octavo.engine.estimators.checked import checked
from octavo.rl.evaluators.base import PolicyEvaluator
from octavo.rl.processes.transitions import Transitions

__all__ = ["CoefficientPath", "coefficient_path"]


class CoefficientPath(NamedTuple):
    """Coefficients after given numbers of transitions: `times` and `coefs`, one row a time."""

    times: NDArray[np.int64]
    coefs: NDArray[np.float64]


@checked
def coefficient_path(
    estimator: Any, transitions: Transitions, times: int | ArrayLike = 20
) -> CoefficientPath:
    """Return the coefficients of an evaluator after more and more of a batch.

    Parameters
    ----------
    estimator : estimator of `octavo.rl`
        Not changed: a clone learns.
    transitions : Transitions
        The batch, seen once.
    times : int or array-like of int, default=20
        How many equally spaced times, or the increasing times themselves.

    Returns
    -------
    path : CoefficientPath
        The times and the coefficients then. After a divergence they stay where it was noticed.

    Examples
    --------
    >>> from octavo.rl import LSTD, Transitions, coefficient_path
    >>> batch = Transitions([[1.0]] * 4, [1.0, 1.0, 2.0, 2.0], [[0.0]] * 4)
    >>> coefficient_path(LSTD(eps=None), batch, 2).coefs.round(3)
    array([[1. ],
           [1.5]])
    """
    model: PolicyEvaluator = clone(estimator)
    model._validate_params()
    n = len(transitions)
    marks = np.asarray(times, dtype=np.int64)
    if marks.ndim == 0:
        marks = np.unique(np.linspace(0, n, int(marks) + 1).round().astype(np.int64)[1:])
    if marks.size == 0 or marks[0] < 1 or marks[-1] > n or np.any(np.diff(marks) <= 0):
        raise ValueError(f"times must increase from at least 1 to at most {n}, got {times!r}.")
    batch = model._batch(transitions, first=True)
    model._start_afresh(batch)
    coefs, done, running = np.empty((marks.size, batch.n_features)), 0, True
    for k, mark in enumerate(marks):
        segment = batch._cut(slice(done, mark))
        for block in segment.chunks(model._block):
            running = running and model._take(block)
        model.n_transitions_, done = int(mark), int(mark)
        model._finish()
        coefs[k] = model.coef_
    return CoefficientPath(marks, coefs)
