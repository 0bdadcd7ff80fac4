"""Designs beside pyDOE3, stepwise regression beside statsmodels, a search beside optuna's TPE."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.search import StepwiseOLS, fractional_factorial, response_surface_search

FACTORS = dict.fromkeys("abcd", (0.0, 2.0))
LIMITS = dict.fromkeys("abcd", (-8.0, 8.0))
TARGET = -0.4


def hill(p):
    return -((p["a"] - 3.0) ** 2) - 0.5 * (p["b"] - 2.0) ** 2 + 0.001 * p["c"] * p["d"]


def table():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 12))
    return X, X[:, :3] @ np.array([1.0, -2.0, 0.5]) + rng.standard_normal(200)


def forward_by_statsmodels(problem):
    """Take variables in by the p-values of statsmodels, until none has 0.10 or less."""
    import statsmodels.api as sm

    X, y = problem
    inside = []
    while len(inside) < X.shape[1]:
        rest = [j for j in range(X.shape[1]) if j not in inside]
        fits = {j: sm.OLS(y, sm.add_constant(X[:, [*inside, j]])).fit() for j in rest}
        best = max(fits, key=lambda j: fits[j].rsquared)
        if fits[best].pvalues[-1] > 0.10:
            break
        inside.append(best)
    return inside


def same_columns(problem, answers):
    ours = answers["octavo StepwiseOLS"].selected_.tolist()
    if "statsmodels" in answers:
        assert ours == answers["statsmodels"]
    return f"Columns: {ours}."


def by_pydoe(k):
    import pyDOE3

    return pyDOE3.fracfact("a b c abc")


def same_design(k, answers):
    if "pyDOE3" in answers:
        assert np.array_equal(answers["octavo"].coded, answers["pyDOE3"])
    return f"Runs: {len(answers['octavo'].coded)}."


def by_optuna(objective):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))

    def trial_value(trial):
        return objective({name: trial.suggest_float(name, -8.0, 8.0) for name in FACTORS})

    for _ in range(300):
        study.optimize(trial_value, n_trials=1)
        if study.best_value >= TARGET:
            break
    return len(study.trials), study.best_value


def experiments(objective, answers):
    found = answers["octavo"]
    text = f"octavo {found.n_experiments} runs to {found.best_response:.2f}"
    if "optuna TPE" in answers:
        text += "; TPE {} runs to {:.2f}".format(*answers["optuna TPE"])
    return f"{text} (target {TARGET})."


CONTESTS = [
    Contest(
        name="a fraction",
        problem="The 2^(4-1) design with its aliases",
        setup=lambda: 4,
        solvers={"octavo": fractional_factorial, "pyDOE3": by_pydoe},
        agree=same_design,
        no_limit="eight runs: calls of Python",
    ),
    Contest(
        name="stepwise regression",
        problem="12 variables, 200 rows, p-values of 0.10 to enter",
        setup=table,
        solvers={
            "octavo StepwiseOLS": lambda problem: StepwiseOLS(direction="forward").fit(*problem),
            "statsmodels": forward_by_statsmodels,
        },
        agree=same_columns,
        limit="rank-one changes: a variable each",
    ),
    Contest(
        name="runs to a target",
        problem="A hill in two of four factors: screening and ascent, and TPE until as good",
        setup=lambda: hill,
        solvers={
            "octavo": lambda f: response_surface_search(f, FACTORS, limits=LIMITS),
            "optuna TPE": by_optuna,
        },
        agree=experiments,
        no_limit="few evaluations: calls of Python",
    ),
]
