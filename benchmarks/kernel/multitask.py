"""Tasks with shared switches beside one machine of scikit-learn a task."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_shared_sparse_tasks
from octavo.kernel import MEDMultitaskSVC


def tasks(n_tasks, n_samples, n_features, seed=0):
    """Tasks whose features are scaled so that kernels are about one."""
    found = make_shared_sparse_tasks(
        n_tasks, n_samples, n_features, n_informative=20, random_state=seed
    )
    return found.X / np.sqrt(n_features), found.y, found.task


def shared(alpha, solver="newton"):
    def fit(problem):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return MEDMultitaskSVC(alpha=alpha, solver=solver).fit(*problem)

    return fit


def one_a_task(problem):
    from sklearn.svm import SVC

    X, y, task = problem
    return [SVC(kernel="linear").fit(X[task == m], y[task == m]) for m in np.unique(task)]


def path_of_ten(problem):
    model = MEDMultitaskSVC(warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha in (0.0, *np.geomspace(1.0, 1000.0, 9)):
            model.set_params(alpha=alpha).fit(*problem)
    return model


def gaps(problem, answers):
    found = {
        name: model.duality_gap_ / model.objective_
        for name, model in answers.items()
        if hasattr(model, "duality_gap_")
    }
    assert max(found.values()) <= 1e-4
    return "Relative gaps " + ", ".join(f"{name} {gap:.1g}" for name, gap in found.items()) + "."


CONTESTS = [
    Contest(
        name="thirty tasks",
        problem="30 tasks of 200 rows and 1,000 features, 20 of which matter; alpha = 100, C = 1, "
        "gap 1e-4",
        setup=lambda: tasks(30, 200, 1000),
        solvers={
            "octavo": shared(100.0),
            "octavo, the paper's bound": shared(100.0, "bound"),
            "octavo, independent (alpha = 0)": shared(0.0),
            "scikit-learn SVC, one a task": one_a_task,
        },
        agree=gaps,
        repeats=1,
        target="Aim: 2 s.",
        limit="coordinate steps: a dot product of a row each",
    ),
    Contest(
        name="a path",
        problem="29 tasks of 100 rows and 100 features: ten alphas from 0 to 1000, warm",
        setup=lambda: tasks(29, 100, 100),
        solvers={
            "octavo, ten alphas": path_of_ten,
            "octavo, independent (alpha = 0)": shared(0.0),
            "scikit-learn SVC, one a task": one_a_task,
        },
        agree=gaps,
        repeats=1,
        target="Aim: 50 times the independent machines.",
        limit="coordinate steps: a dot product of a row each",
    ),
]
