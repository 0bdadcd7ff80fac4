"""MICGroup beside LassoCV and abess with groups."""

from __future__ import annotations

from sklearn.linear_model import LassoCV

from benchmarks.harness import Contest
from octavo.data import make_grouped_features
from octavo.linear import MICGroup


def sample():
    return make_grouped_features("unequal", random_state=0)


def switch(drawn):
    return MICGroup(drawn.groups).fit(drawn.X, drawn.y).support_


def subset(drawn):
    return MICGroup(drawn.groups, scheme="subset").fit(drawn.X, drawn.y).support_


def lasso(drawn):
    return LassoCV(cv=10).fit(drawn.X, drawn.y).coef_ != 0


def whole_groups(drawn):
    from abess import LinearRegression

    model = LinearRegression(support_size=range(3), group=drawn.groups)
    return model.fit(drawn.X, drawn.y).coef_ != 0


def peers():
    found = {
        "octavo, switches": switch,
        "octavo, subsets": subset,
        "scikit-learn LassoCV, 10 folds": lasso,
    }
    try:
        import abess  # noqa: F401
    except ImportError:
        return found
    return found | {"abess, whole groups": whole_groups}


def found_features(drawn, answers):
    told = [f"{name}: {a[:7].sum()} / {a[7:].sum()}" for name, a in answers.items()]
    return "Right (of 7) / wrong features: " + "; ".join(told) + "."


CONTESTS = [
    Contest(
        name="groups",
        problem="n = 100, p = 1,000 in groups of 12, 100, 300 and 588; 7 features of the first",
        setup=sample,
        solvers=peers(),
        agree=found_features,
        repeats=3,
        target="Faster than a cross-validated lasso, with fewer wrong features.",
        limit="BLAS: correlations of all columns with the residual, a step",
    ),
]
