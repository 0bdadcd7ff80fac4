"""MICSelector beside MultiTaskLassoCV and abess, and on a table of 100,000 columns."""

from __future__ import annotations

import resource
import warnings

from sklearn.linear_model import MultiTaskLassoCV

from benchmarks.harness import Contest
from octavo.data import make_shared_features
from octavo.linear import MICSelector


def sample(n_features=2000):
    drawn = make_shared_features(n_features=n_features, random_state=0)
    return drawn.X, drawn.Y, drawn.coef.T != 0


def mic(data):
    return MICSelector().fit(data[0], data[1]).support_


def lasso(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultiTaskLassoCV(alphas=20, cv=5, max_iter=300).fit(data[0], data[1])
    return (model.coef_ != 0).T


def best_subset(data):
    from abess import MultiTaskRegression

    model = MultiTaskRegression(support_size=range(1, 60)).fit(data[0], data[1])
    return model.coef_ != 0


def scores(data, answers):
    truth, told = data[2], []
    for name, found in answers.items():
        hits = (found & truth).sum()
        told.append(f"{name}: {hits / max(1, found.sum()):.2f} / {hits / truth.sum():.2f}")
    return "Precision / recall of coefficients: " + "; ".join(told) + "."


def peers():
    found = {"octavo MICSelector": mic, "scikit-learn MultiTaskLassoCV, 20 α x 5 folds": lasso}
    try:
        import abess  # noqa: F401
    except ImportError:
        return found
    return found | {"abess, by information criterion": best_subset}


def memory(data, answers):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"{scores(data, answers)} Peak memory of the whole process {peak:.1f} GiB."


CONTESTS = [
    Contest(
        name="many tasks",
        problem="n = 100, p = 2,000, 20 tasks that share some of their features",
        setup=sample,
        solvers=peers(),
        agree=scores,
        repeats=3,
        target="0.1 s, and 20 times MultiTaskLassoCV, which keeps a feature for all tasks or none.",
        warm=False,
        limit="BLAS: correlations of all columns with the residuals, a step",
    ),
    Contest(
        name="wide",
        problem="n = 100, p = 100,000, 20 tasks",
        setup=lambda: sample(100_000),
        solvers={"octavo MICSelector": mic},
        agree=memory,
        repeats=3,
        target="Seconds, within 2 GB.",
        warm=False,
        limit="BLAS: correlations of all columns with the residuals, a step",
        traffic=100 * 100_000 * 8,
    ),
]
