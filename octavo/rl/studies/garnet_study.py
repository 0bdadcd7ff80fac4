"""The study of the trace survey: settings tuned on some Garnet problems, tested on others.

Reference: Geist and Scherrer (2014), "Off-policy learning with eligibility traces: a survey",
JMLR 15:289-333, section 5 (Tables 3 to 6, Figures 1 to 5).
"""

from __future__ import annotations

import itertools
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.evaluators.bellman_residual import BRM, ResidualGradient
from octavo.rl.evaluators.gradient_td import GTD2, TD, TDC
from octavo.rl.evaluators.learning_paths import coefficient_path
from octavo.rl.evaluators.least_squares_td import FPKF, LSPE, LSTD
from octavo.rl.problems.garnet import make_garnet

__all__ = [
    "EvaluatorScore",
    "GarnetStudy",
    "LearningCurve",
    "error_curve",
    "garnet_evaluators",
    "garnet_study",
]

_LAMBDAS = (0.0, 0.4, 0.7, 0.9, 1.0)
_STEPS = {"learning_rate": (0.01, 0.1, 1.0), "learning_rate_decay": (10.0, 100.0, 1000.0)}
_SECOND = {"beta": (0.01, 0.1, 1.0), "beta_decay": (10.0, 100.0, 1000.0)}
_SIZES = {"small": (30, 2, 2, 8), "big": (100, 4, 3, 20)}


class EvaluatorScore(NamedTuple):
    """How an evaluator with some settings did: mean, median and spread of its error.

    `name` is the method's, `settings` what was set, `mean`, `median` and `std` are over the
    problems or trials, whose errors are `errors`.
    """

    name: str
    settings: dict
    mean: float
    median: float
    std: float
    errors: np.ndarray


class LearningCurve(NamedTuple):
    """Errors after more and more transitions: `times`, and `errors` with one row a problem."""

    times: np.ndarray
    errors: np.ndarray


class GarnetStudy(NamedTuple):
    """The outcome of `garnet_study`.

    `tuning` maps each method to the scores of all its settings, best first; `curves` maps it to
    the `LearningCurve` of its best settings on fresh problems.
    """

    tuning: dict
    curves: dict


@checked
def error_curve(evaluator, transitions, times, error):
    """Return the error of an evaluator after more and more transitions.

    Parameters
    ----------
    evaluator : estimator
        One of `octavo.rl`; it is not changed.
    transitions : Transitions
        The log.
    times : int or array-like of int
        As in `coefficient_path`.
    error : callable
        ``error(theta)`` is a number.

    Returns
    -------
    ndarray of shape (n_times,)
        Errors; where an evaluator has diverged they are huge, or infinite.

    Examples
    --------
    >>> from octavo.rl import LSTD, error_curve, make_boyan
    >>> chain = make_boyan()
    >>> mse = chain.objectives().mse
    >>> errors = error_curve(LSTD(0.95), chain.sample(2000, random_state=0), [100, 2000], mse)
    >>> bool(errors[1] < errors[0])
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # divergence and ill-conditioning are what is measured
        path = coefficient_path(evaluator, transitions, times)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.array([error(theta) for theta in path.coefs], dtype=np.float64)
    return np.where(np.isfinite(errors), errors, np.inf)


def _settings_of(grid):
    names = list(grid)
    return [dict(zip(names, values)) for values in itertools.product(*grid.values())]


def _score(name, settings, errors):
    with np.errstate(invalid="ignore"):
        spread = float(np.std(errors)) if np.isfinite(errors).all() else np.inf
    return EvaluatorScore(
        name, settings, float(errors.mean()), float(np.median(errors)), spread, errors
    )


@checked
def garnet_evaluators(gamma=0.95):
    """Return the eight methods of the trace survey and the grids that it tunes them on.

    Parameters
    ----------
    gamma : float, default=0.95
        Discount factor.

    Returns
    -------
    dict of str to (estimator, dict)
        The evaluator and its grid, for each of "LSTD", "LSPE", "FPKF", "BRM", "TD", "gBRM", "TDC"
        and "GTD2", with standard importance weighting.

    Examples
    --------
    >>> from octavo.rl import garnet_evaluators
    >>> list(garnet_evaluators())
    ['LSTD', 'LSPE', 'FPKF', 'BRM', 'TD', 'gBRM', 'TDC', 'GTD2']
    """
    least = {"lam": _LAMBDAS}
    single, double = {**least, **_STEPS}, {**least, **_STEPS, **_SECOND}
    weighting = {"gamma": gamma, "off_policy": "standard"}
    falling = {**weighting, "schedule": "harmonic"}
    return {
        "LSTD": (LSTD(**weighting), least),
        "LSPE": (LSPE(**weighting), least),
        "FPKF": (FPKF(**weighting), least),
        "BRM": (BRM(**weighting), least),
        "TD": (TD(**falling), single),
        "gBRM": (ResidualGradient(**falling), single),
        "TDC": (TDC(**falling), double),
        "GTD2": (GTD2(**falling), double),
    }


class _Instance(NamedTuple):
    """A Garnet problem with its policies and one log."""

    features: np.ndarray
    value: np.ndarray
    log: object

    def error(self, theta):
        """Return ||Φθ − V||₂ / √N: the paper's error, averaged over states."""
        return float(np.sqrt(np.mean((self.features @ theta - self.value) ** 2)))


def _instance(size, off_policy, n_steps, seed):
    rng = np.random.RandomState(seed)
    garnet = make_garnet(*_SIZES[size], random_state=rng)
    target = garnet.random_policy(rng)
    acting = garnet.random_policy(rng) if off_policy else None
    log = garnet.sample(n_steps, target, acting, random_state=rng)
    return _Instance(garnet.features, garnet.value(target), log)


def _tune_one(methods, size, off_policy, n_steps, times, seed):
    """Return the error over the last tenth of a log for every method and setting."""
    instance = _instance(size, off_policy, n_steps, seed)
    return {
        name: [
            error_curve(clone(model).set_params(**s), instance.log, times, instance.error).mean()
            for s in _settings_of(grid)
        ]
        for name, (model, grid) in methods.items()
    }


def _test_one(models, size, off_policy, n_steps, times, seed):
    instance = _instance(size, off_policy, n_steps, seed)
    return {
        name: error_curve(model, instance.log, times, instance.error)
        for name, model in models.items()
    }


@checked
def garnet_study(
    size="small",
    *,
    off_policy=False,
    methods=None,
    n_tune=30,
    n_test=100,
    tune_steps=10_000,
    test_steps=100_000,
    choose="mean",
    n_jobs=None,
    random_state=0,
):
    """Tune methods on some Garnet problems and test them on others, as the trace survey does.

    Parameters
    ----------
    size : {"small", "big"}, default="small"
        30 states, 2 actions, 2 successors and 8 features; or 100, 4, 3 and 20.
    off_policy : bool, default=False
        Whether another random policy acts.
    methods : dict of str to (estimator, dict), default=None
        Evaluators and their grids; None stands for `garnet_evaluators`.
    n_tune, n_test : int, default=30, 100
        Numbers of problems in the two stages; no test with 0.
    tune_steps, test_steps : int, default=10000, 100000
        Lengths of the logs, one a problem.
    choose : {"mean", "median"}, default="mean"
        What the settings of a method minimise over the problems: the error ||Φθ − V||₂ / √N over
        the last tenth of the log. Off-policy, the mean is ruled by a few problems.
    n_jobs : int, default=None
        Number of jobs, as in joblib.
    random_state : int, RandomState instance or None, default=0
        Seeds the problems and logs.

    Returns
    -------
    GarnetStudy
        Scores of all settings, and learning curves of the best ones.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333, section 5.

    Examples
    --------
    >>> from octavo.rl import garnet_evaluators, garnet_study
    >>> lstd = {"LSTD": garnet_evaluators()["LSTD"]}
    >>> study = garnet_study(methods=lstd, n_tune=4, n_test=2, tune_steps=2000, test_steps=4000)
    >>> study.tuning["LSTD"][0].settings, study.curves["LSTD"].errors.shape
    ({'lam': 1.0}, (2, 20))
    """
    if size not in _SIZES:
        raise ValueError(f"size must be one of {list(_SIZES)}, got {size!r}.")
    if choose not in ("mean", "median"):
        raise ValueError(f"choose must be 'mean' or 'median', got {choose!r}.")
    if n_tune < 1 or n_test < 0:
        raise ValueError(f"There must be problems to tune on, got {n_tune!r} and {n_test!r}.")
    methods = garnet_evaluators() if methods is None else methods
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_tune + n_test)
    parallel = Parallel(n_jobs=n_jobs)
    last = np.unique(np.linspace(0.9 * tune_steps, tune_steps, 11).round().astype(int))
    tuned = parallel(
        delayed(_tune_one)(methods, size, off_policy, tune_steps, last, seed)
        for seed in seeds[:n_tune]
    )
    tuning = {}
    for name, (_, grid) in methods.items():
        table = np.array([one[name] for one in tuned]).T
        scores = [_score(name, s, errors) for s, errors in zip(_settings_of(grid), table)]
        tuning[name] = sorted(scores, key=lambda found: getattr(found, choose))
    if not n_test:
        return GarnetStudy(tuning, {})
    models = {
        name: clone(model).set_params(**tuning[name][0].settings)
        for name, (model, _) in methods.items()
    }
    times = np.unique(np.geomspace(test_steps / 1000, test_steps, 20).round().astype(int))
    tested = parallel(
        delayed(_test_one)(models, size, off_policy, test_steps, times, seed)
        for seed in seeds[n_tune:]
    )
    curves = {
        name: LearningCurve(times, np.array([one[name] for one in tested])) for name in methods
    }
    return GarnetStudy(tuning, curves)
