"""What a practitioner would try first on a table, each method at its best.

Every method may try `EVALUATIONS` settings on the same inner folds, octavo's as well: nobody wins
by a longer search. LightGBM, XGBoost and CatBoost take part where they are installed
(``pip install 'octavo[boost]'``).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.utils.metaestimators import available_if

from octavo.compare.methods.candidates import EVALUATIONS, QUADRATIC_ROWS, Candidate
from octavo.compare.table.problems import Problem

Grid = list[dict[str, Any]]
SQUARE = "the square of the rows"
LEAVES, RATES = (7, 15, 31), (0.03, 0.1, 0.3)


def settings_of(**values: Any) -> Grid:
    """Return all combinations of values, of which there may be `EVALUATIONS`."""
    found = [dict(zip(values, chosen)) for chosen in product(*values.values())]
    assert len(found) <= EVALUATIONS
    return found


def spaced(name: str, low: float, high: float) -> Grid:
    """Return settings of one parameter, evenly spaced in its logarithm."""
    return [{name: float(f"{v:.3g}")} for v in np.geomspace(low, high, EVALUATIONS)]


def neighbour_settings(problem: Problem) -> Grid:
    """Return numbers of neighbours that even the smallest training part has."""
    plain = [1, 3, 5, 10, 20, 40]
    found: Grid = [{"n_neighbors": k, "weights": "uniform"} for k in plain]
    found += [{"n_neighbors": k, "weights": "distance"} for k in (5, 10, 20)]
    part = problem.n_rows // (30 if problem.ordered else 5)
    fitting = [params for params in found if params["n_neighbors"] <= part]
    return fitting or found[:1]


def rbf_settings(problem: Problem, prefix: str = "") -> Grid:
    """Return C and gamma of an RBF machine; one over the columns is the middle of gamma."""
    width = 1 / max(1, problem.X.shape[1])
    return settings_of(
        **{
            f"{prefix}C": (0.5, 5.0, 50.0),
            f"{prefix}gamma": [float(f"{f * width:.3g}") for f in (0.25, 1.0, 4.0)],
        }
    )


def _sk(name: str, estimator: Any, grid: Grid, *aliases: str, **more: Any) -> Candidate:
    return Candidate(name, "scikit-learn", estimator, grid, aliases=aliases, **more)


def _scaled(regressor: Any) -> Any:
    """Return a regressor that sees a standardised target."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def tree_classifiers() -> Iterator[Candidate]:
    """Yield the forests of scikit-learn, which take one target or several."""
    trees = settings_of(max_features=("sqrt", 0.5, 1.0), min_samples_leaf=(1, 3, 10))
    for name, estimator, alias in (
        ("ExtraTreesClassifier", ExtraTreesClassifier(), "extra-trees"),
        ("RandomForestClassifier", RandomForestClassifier(), "forest"),
    ):
        yield _sk(
            name,
            estimator,
            trees,
            alias,
            encoding="codes",
            cost="rows, many trees",
            needs="anything",
        )


def neighbours(problem: Problem) -> Candidate:
    """Return nearest neighbours, for one target or several."""
    grid = neighbour_settings(problem)
    return _sk("KNeighborsClassifier", KNeighborsClassifier(), grid, "knn", needs="numbers")


def classifiers(problem: Problem) -> Iterator[Candidate]:
    """Yield the usual classifiers, cheapest first."""
    nothing = "nothing: the share of each class"
    yield _sk("DummyClassifier", DummyClassifier(), [{}], "guess", needs=nothing)
    linear = LogisticRegression(max_iter=1000)
    yield _sk("LogisticRegression", linear, spaced("C", 0.003, 30.0), "linear", needs="numbers")
    yield neighbours(problem)
    yield _sk(
        "SplineLogisticRegression",
        LogisticRegression(max_iter=1000),
        spaced("C", 0.001, 10.0),
        "spline",
        "gam",
        encoding="splines",
        needs="numbers; smooth effects that add up",
    )
    yield _sk(
        "SVC",
        SVC(),
        rbf_settings(problem),
        "svm",
        "rbf",
        row_limit=QUADRATIC_ROWS,
        cost=SQUARE,
        needs="numbers",
    )
    yield from tree_classifiers()
    yield _sk(
        "HistGradientBoostingClassifier",
        HistGradientBoostingClassifier(),
        settings_of(learning_rate=RATES, max_leaf_nodes=LEAVES),
        "boosting",
        encoding="native",
        needs="anything",
    )
    yield from boosters("Classifier")


def _inner_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class SteadyClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of 0 and 1 that also learns from rows of one class: it then always answers so.

    A rare label may be absent from a training part, which most classifiers refuse.

    Parameters
    ----------
    estimator : classifier
        Used where there are two classes or more.

    Attributes
    ----------
    classes_ : ndarray
        0 and 1.
    estimator_ : classifier
        The fitted one, or a constant guess.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> SteadyClassifier:
        """Fit the classifier, or remember the only class."""
        self.classes_ = np.array([0, 1])
        one_class = len(np.unique(y)) < 2
        model = DummyClassifier(strategy="most_frequent") if one_class else clone(self.estimator)
        self.estimator_ = model.fit(X, y)
        return self

    @_inner_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return margins; of the only class, its sign."""
        if len(self.estimator_.classes_) < 2:
            return 2.0 * self.predict(X) - 1.0
        return self.estimator_.decision_function(X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the chances of 0 and 1."""
        if len(self.estimator_.classes_) < 2:
            return np.equal.outer(self.predict(X), self.classes_).astype(float)
        return self.estimator_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Return labels."""
        return self.estimator_.predict(X)


def labellers(problem: Problem) -> Iterator[Candidate]:
    """Yield the usual methods for several labels: one classifier a label, and chains of them."""
    nothing = "nothing: the usual value of each label"
    yield _sk("DummyClassifier", DummyClassifier(), [{}], "guess", needs=nothing)
    inside = "estimator__estimator__"
    linear = SteadyClassifier(LogisticRegression(max_iter=1000)), spaced(f"{inside}C", 0.003, 30.0)
    machine = SteadyClassifier(SVC()), rbf_settings(problem, inside)
    square: dict[str, Any] = {"row_limit": QUADRATIC_ROWS, "cost": SQUARE}
    for name, alias, (one, grid), more in (
        ("LogisticRegression", "linear", linear, {}),
        ("SVC", "svm", machine, square),
    ):
        alone, chain = MultiOutputClassifier(one), ClassifierChain(one, order="random")
        yield _sk(f"{name}PerLabel", alone, grid, alias, "independent", needs="numbers", **more)
        needs = "numbers; labels that depend on labels"
        yield _sk(f"{name}Chain", chain, grid, f"{alias}-chain", "chain", needs=needs, **more)
    yield neighbours(problem)
    yield from tree_classifiers()


def regressors(problem: Problem) -> Iterator[Candidate]:
    """Yield the usual regressors, cheapest first."""
    yield _sk("DummyRegressor", DummyRegressor(), [{}], "guess", needs="nothing: the mean")
    yield _sk("Ridge", Ridge(), spaced("alpha", 0.01, 10_000.0), "linear", needs="numbers")
    yield _sk(
        "KNeighborsRegressor",
        KNeighborsRegressor(),
        neighbour_settings(problem),
        "knn",
        needs="numbers",
    )
    yield _sk(
        "SplineRidge",
        Ridge(),
        spaced("alpha", 0.01, 10_000.0),
        "spline",
        "gam",
        encoding="splines",
        needs="numbers; smooth effects that add up",
    )
    yield _sk(
        "SVR",
        _scaled(SVR()),
        rbf_settings(problem, "regressor__"),
        "svm",
        "rbf",
        row_limit=QUADRATIC_ROWS,
        cost=SQUARE,
        needs="numbers",
    )
    trees = settings_of(max_features=(0.33, 0.67, 1.0), min_samples_leaf=(1, 3, 10))
    for name, estimator, alias in (
        ("ExtraTreesRegressor", ExtraTreesRegressor(), "extra-trees"),
        ("RandomForestRegressor", RandomForestRegressor(), "forest"),
    ):
        yield _sk(
            name,
            estimator,
            trees,
            alias,
            encoding="codes",
            cost="rows, many trees",
            needs="anything",
        )
    yield _sk(
        "HistGradientBoostingRegressor",
        HistGradientBoostingRegressor(),
        settings_of(learning_rate=RATES, max_leaf_nodes=LEAVES),
        "boosting",
        encoding="native",
        needs="anything",
    )
    yield from boosters("Regressor")


# --- packages of their own -----------------------------------------------------------------------


class EncodedLabels(ClassifierMixin, BaseEstimator):
    """A classifier that takes the numbers 0, 1, ... alone, given labels of any kind.

    It answers in one dimension, whatever the classifier does.

    Parameters
    ----------
    estimator : classifier
        The one that takes numbers.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    estimator_ : classifier
        The fitted one.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> EncodedLabels:
        """Fit on the numbers of the labels."""
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, numbers)
        return self

    def predict(self, X: Any) -> Any:
        """Return labels."""
        return self.classes_[np.asarray(self.estimator_.predict(X)).ravel().astype(int)]

    def predict_proba(self, X: Any) -> Any:
        """Return the chances of the labels."""
        return self.estimator_.predict_proba(X)


# package, class before its ending, origin, fixed settings, names of the tree size and its values
BOOSTERS: tuple[tuple[str, str, str, dict[str, Any], str, tuple[int, ...]], ...] = (
    ("lightgbm", "LGBM", "lightgbm", {"verbose": -1, "n_jobs": 1}, "num_leaves", LEAVES),
    ("xgboost", "XGB", "xgboost", {"verbosity": 0, "n_jobs": 1}, "max_depth", (3, 4, 6)),
    (
        "catboost",
        "CatBoost",
        "catboost",
        {"verbose": 0, "thread_count": 1, "allow_writing_files": False},
        "depth",
        (3, 4, 6),
    ),
)


def boosters(ending: str) -> Iterator[Candidate]:
    """Yield the boosting packages that are installed.

    Parameters
    ----------
    ending : {"Classifier", "Regressor"}
        Of their classes.

    Yields
    ------
    candidate : Candidate
        With the grid of scikit-learn's boosting.
    """
    for package, stem, alias, fixed, size, sizes in BOOSTERS:
        if importlib.util.find_spec(package) is None:
            continue
        try:
            cls = getattr(importlib.import_module(package), f"{stem}{ending}")
        except (ImportError, OSError, AttributeError):  # installed, but its library does not load
            continue
        estimator, prefix = cls(random_state=0, **fixed), ""
        # XGBoost takes numbers alone; CatBoost answers in a column where there are many classes.
        if package != "lightgbm" and ending == "Classifier":
            estimator, prefix = EncodedLabels(estimator), "estimator__"
        yield Candidate(
            f"{stem}{ending}",
            package,
            estimator,
            settings_of(**{f"{prefix}learning_rate": RATES, f"{prefix}{size}": sizes}),
            "codes",
            needs="anything",
            aliases=(alias,),
        )
