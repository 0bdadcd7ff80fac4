"""NoOffsetSVCCV beside GridSearchCV with SVC: the same 10 by 10 grid, the same 10 folds."""

from __future__ import annotations

from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import minmax_scale

from benchmarks.harness import Contest
from octavo.data import load_dataset
from octavo.svm import NoOffsetSVCCV, steinwart_grid


def table(name):
    bunch = load_dataset(name)
    X, y = minmax_scale(bunch.data, feature_range=(-1, 1)), bunch.target
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    NoOffsetSVCCV(n_alphas=2, n_gammas=2, cv=2).fit(X[:60], y[:60])  # compiled
    return X, y, folds


def ours(problem, **options):
    X, y, folds = problem
    return NoOffsetSVCCV(cv=folds, random_state=0, **options).fit(X, y)


def grid_search(problem):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    X, y, folds = problem
    alphas, gammas = steinwart_grid(*X.shape)
    C, gamma = 1 / (2 * alphas * 0.9 * len(y)), gammas
    return GridSearchCV(SVC(cache_size=1000), {"C": C, "gamma": gamma}, cv=folds).fit(X, y)


def near(problem, answers):
    own = answers["octavo I1-W4"].best_score_
    theirs = answers["GridSearchCV(SVC)"].best_score_
    assert own > theirs - 0.02
    return f"Best cross-validated accuracies: octavo {own:.3f}, SVC {theirs:.3f}."


def contest(name, words, **options):
    return Contest(
        name=name.split("/")[1],
        problem=f"{words}: 10 by 10 grid, 10 folds, final fit",
        setup=lambda: table(name),
        solvers={
            "octavo I1-W4": ours,
            "octavo I0-W4 hybrid": lambda p: ours(p, warm="I0-W4", order="hybrid"),
            "octavo I0-W0 (cold)": lambda p: ours(p, warm="I0-W0"),
            "GridSearchCV(SVC)": grid_search,
        },
        agree=near,
        target="Aim: 5 times as fast as GridSearchCV. Both stop at 0.001, octavo on the clipped "
        "gap, SVC on the violation of its conditions, as in the paper.",
        **options,
        limit="memory bandwidth: a kernel row is read a step",
    )


CONTESTS = [
    contest("uci/heart", "270 patients (heart)", repeats=3),
    contest("uci/pima", "768 patients (diabetes)", repeats=3),
    contest("libol/svmguide3", "1,243 samples (svmguide3)", repeats=2, warm=False),
]
