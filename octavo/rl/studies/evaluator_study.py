"""Tune policy evaluators on problems whose objectives are known, as the survey did.

Reference: C. Dann, G. Neumann and J. Peters (2014), "Policy Evaluation with Temporal Differences:
A Survey and Comparison", Journal of Machine Learning Research 15: Section 3.1.7, Tables 3 and 4.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.evaluators.learning_paths import coefficient_path
from octavo.rl.processes.transitions import Transitions

__all__ = ["EvaluatorTuning", "survey_grid", "tune_evaluator"]

_ALPHA = [2e-4, 5e-4, *(k * 1e-3 for k in range(1, 10)), *(k * 1e-2 for k in range(1, 10))]
_ALPHA += [0.1, 0.2, 0.3, 0.4, 0.5]
_LAM = [round(0.1 * k, 1) for k in range(11)]
_MU = [1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
_EPS = [1e5, 1e3, 1e2, 10.0, 1.0, 0.1, 0.01]
_GRIDS: dict[str, dict[str, list[Any]]] = {
    "TD": {"learning_rate": _ALPHA, "lam": _LAM},
    "GTD": {"learning_rate": _ALPHA, "mu": _MU},
    "GTD2": {"learning_rate": _ALPHA, "mu": _MU},
    "TDC": {"learning_rate": _ALPHA, "mu": _MU, "lam": _LAM},
    "ResidualGradient": {"learning_rate": _ALPHA},
    "LSTD": {"eps": _EPS, "lam": _LAM},
    "LSPE": {
        "eps": _EPS,
        "lam": _LAM,
        "learning_rate": [0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0],
    },
    "FPKF": {
        "eps": _EPS,
        "lam": _LAM,
        "learning_rate": [0.01, 0.1, 0.3, 0.5, 0.8, 1.0],
        "learning_rate_decay": [1.0, 10.0, 100.0, 1000.0],
        "min_samples": [0, 500, 1000],
    },
    "BRM": {"eps": _EPS, "lam": _LAM},
}


class EvaluatorTuning(NamedTuple):
    """Outcome of a search: `best` (a new estimator), its `score`, and all `params`, `scores`."""

    best: Any
    score: float
    params: list[dict[str, Any]]
    scores: NDArray[np.float64]


@checked
def survey_grid(method: str) -> dict[str, list[float]]:
    """Return the values that the survey tried for a method (Tables 3 and 4).

    Parameters
    ----------
    method : str
        Name of the class.

    Returns
    -------
    grid : dict of str to list
        Values by parameter. Drop what should stay as it is.

    Examples
    --------
    >>> from octavo.rl import survey_grid
    >>> survey_grid("LSTD")["eps"]
    [100000.0, 1000.0, 100.0, 10.0, 1.0, 0.1, 0.01]
    """
    if method not in _GRIDS:
        raise ValueError(f"The survey has no grid for {method!r}, only for {sorted(_GRIDS)}.")
    return {name: list(values) for name, values in _GRIDS[method].items()}


@checked
def tune_evaluator(
    estimator: Any,
    grid: dict[str, list[Any]],
    problem: Any,
    *,
    n_steps: int,
    n_trials: int = 3,
    objective: str = "mspbe",
    n_points: int = 20,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
) -> EvaluatorTuning:
    """Choose parameters by the exact objective along the learning curve.

    A score is the mean over trials of the weighted mean of the root of the objective at equally
    spaced times, with weights that grow from 1 to 2.

    Parameters
    ----------
    estimator : estimator of `octavo.rl`
        What to tune; its ``gamma`` should be the problem's.
    grid : dict of str to list
        Values by parameter, as for `sklearn.model_selection.ParameterGrid`.
    problem : object
        With ``sample(n_steps, double=..., random_state=...)`` and ``objectives()``, such as
        `make_boyan` returns.
    n_steps : int
        Transitions a trial.
    n_trials : int, default=3
        Independent logs over which scores are averaged.
    objective : {"mspbe", "msbe", "mstde", "mse"}, default="mspbe"
        What to score by.
    n_points : int, default=20
        Times along the learning curve.
    random_state : int, RandomState instance or None, default=0
        Seeds the logs; all parameters meet the same ones.
    n_jobs : int or None, default=None
        Parallel jobs, as in joblib.

    Returns
    -------
    tuning : EvaluatorTuning
        The best estimator and all scores; infinite where a method diverged.

    Examples
    --------
    >>> from octavo.rl import LSTD, make_boyan, tune_evaluator
    >>> tuning = tune_evaluator(LSTD(0.95), {"eps": [1e3, 1e-3]}, make_boyan(), n_steps=500)
    >>> tuning.best.eps
    1000.0
    """
    rng = check_random_state(random_state)
    double = bool(getattr(estimator, "double_sample", False)) or True in grid.get(
        "double_sample", ()
    )
    logs = [
        problem.sample(n_steps, double=double, random_state=int(rng.randint(2**31 - 1)))
        for _ in range(n_trials)
    ]
    exact = problem.objectives()
    params = list(ParameterGrid(grid))
    models = [clone(estimator).set_params(**choice) for choice in params]
    scores = np.array(
        Parallel(n_jobs=n_jobs)(
            delayed(_score)(model, logs, getattr(exact, objective), n_points) for model in models
        )
    )
    place = int(np.argmin(scores))
    return EvaluatorTuning(clone(models[place]), float(scores[place]), params, scores)


def _score(model: Any, logs: list[Transitions], objective: Any, n_points: int) -> float:
    total = 0.0
    for log in logs:
        errors = path_errors(model, log, objective, n_points)
        weights = np.linspace(1.0, 2.0, errors.size)
        total += float(weights @ errors / weights.sum())
    return total / len(logs) if np.isfinite(total) else np.inf


def path_errors(model: Any, log: Transitions, objective: Any, n_points: int) -> NDArray[np.float64]:
    """Return the root of an objective along a learning curve, infinite once it diverges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # divergence is part of the score
        path = coefficient_path(model, log, n_points)
        values = np.array([objective(theta) for theta in path.coefs])
    return np.sqrt(np.where(values < 1e200, np.maximum(values, 0.0), np.inf))
