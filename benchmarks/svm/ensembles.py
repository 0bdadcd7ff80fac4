"""EnsembleSVC beside SVC, BaggingClassifier and a loop over the machines."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.svm import EnsembleSVC

PARAMS = {"C": 10.0, "gamma": 20.0}


def checkerboard(n, seed=0, noise=0.02):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = (np.floor(4 * X).sum(axis=1) % 2).astype(int)
    return X, np.where(rng.random(n) < noise, 1 - y, y)


def hundred_thousand():
    X, y = checkerboard(100_000)
    EnsembleSVC(2, max_samples=100, **PARAMS).fit(X, y)  # imports are not timed
    return X, y


def fit_svc(data):
    from sklearn.svm import SVC

    return SVC(**PARAMS).fit(*data)


def fit_bagging(data):
    from sklearn.ensemble import BaggingClassifier
    from sklearn.svm import SVC

    model = BaggingClassifier(SVC(**PARAMS), 20, max_samples=2_000, random_state=0)
    return model.fit(*data)


def accuracies(_, models):
    X, y = checkerboard(10_000, seed=1, noise=0.0)
    scores = {name: model.score(X, y) for name, model in models.items()}
    assert scores["octavo"] > scores["SVC, all rows"] - 0.03
    told = ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
    return f"Test accuracy: {told}. LIBSVM's tolerance is 1e-3 for all."


def predictors(n_features=10, n_train=20_000, n_query=5_000):
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_train, n_features))
    y = (np.abs(X).sum(axis=1) > np.median(np.abs(X).sum(axis=1))).astype(int)
    model = EnsembleSVC(20, gamma=0.1, random_state=0).fit(X, y)
    machines = []
    for sample in model.estimators_samples_:
        rows, counts = np.unique(sample, return_counts=True)
        machines.append(SVC(gamma=0.1).fit(X[rows], y[rows], sample_weight=counts))
    # One machine with as many support vectors as the pool holds.
    single = SVC(gamma=0.1, C=0.1)
    single.fit(X, y)
    return model, machines, single, rng.normal(size=(n_query, n_features))


def loop(problem):
    _, machines, _, query = problem
    return np.column_stack([machine.decision_function(query) for machine in machines])


def same_values(problem, answers):
    model, _, single, _ = problem
    gap = np.abs(answers["octavo"] - answers["loop over 20 SVC"]).max()
    assert gap < 1e-9
    return (
        f"Decision values of pool and machines differ by {gap:.1e} at most. "
        f"{len(model.support_indices_)} distinct of {model.n_support_total_} support vectors; the "
        f"single SVC has {len(single.support_)}."
    )


CONTESTS = [
    Contest(
        name="training",
        problem="Training on 100,000 rows of a 4 x 4 checkerboard, 20 machines on 2,000 rows each, "
        "one thread",
        setup=hundred_thousand,
        solvers={
            "octavo": lambda data: EnsembleSVC(random_state=0, **PARAMS).fit(*data),
            "BaggingClassifier(SVC)": fit_bagging,
            "SVC, all rows": fit_svc,
        },
        agree=accuracies,
        repeats=1,
        warm=False,
        target="Aim: at least 15 times faster than SVC.",
        limit="kernel rows: exponentials of 2,000 rows a step",
    ),
    Contest(
        name="prediction",
        problem="Decision values of 20 machines for 5,000 queries of 10 features, one thread",
        setup=predictors,
        solvers={
            "octavo": lambda p: p[0].base_decision_function(p[3]),
            "loop over 20 SVC": loop,
            "one SVC": lambda p: p[2].decision_function(p[3]),
        },
        agree=same_values,
        repeats=3,
        target="Aim: at least 2 times faster than the loop.",
        limit="exponentials: one a support vector and query",
    ),
]
