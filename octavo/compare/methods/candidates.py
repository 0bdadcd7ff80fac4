"""Which methods are tried on a problem: octavo's, found through the catalogue, and the usual ones.

An octavo class takes part when its scikit-learn tags say that it does the task on tables: nothing
here lists it. A method's record (`Method.trials`) adds what tags cannot say (values worth trying,
sizes that are too large); without it a class gets a grid around the default of its main parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline

from octavo._names import UnknownNameError
from octavo.catalogue import Method, Trial, methods
from octavo.compare.methods.clusters import ClusterModel
from octavo.compare.methods.encoding import make_encoder
from octavo.compare.methods.hazards import KaplanMeierBaseline, PoissonHazard, RidgeCox
from octavo.compare.methods.rankers import BradleyTerry, PreferenceRanker, StreamRanker, WinRate
from octavo.compare.table.problems import Problem
from octavo.compare.table.reading import InputError

QUADRATIC_ROWS = 10_000  # an n x n matrix of them takes 0.8 GB
DENSE_CELLS = 5_000_000
GRID_NAMES = ("C", "alpha", "r")  # main parameters of octavo's methods
BALANCING = {"balanced_accuracy", "f1_macro"}  # scores in which rare classes count in full
RARE_ROWS = 15  # rows of the rarer class from which a threshold can be tuned
TOOL_NAMES = {"estimators", "experts", "rule"}  # parameters of tools around other estimators
EVALUATIONS = 9  # settings that every method may try on the inner folds
CLUSTER_COUNTS = (2, 3, 4, 5, 6, 8, 10)


@dataclass
class Candidate:
    """One method on the list.

    Parameters
    ----------
    name : str
        What it is called in the leaderboard.
    origin : {"octavo", "scikit-learn", "baseline", "lightgbm", "xgboost", "catboost"}
        Where it comes from.
    estimator : estimator
        Unfitted, without encoding.
    grid : list of dict
        Settings that the inner loop chooses from.
    encoding : str
        What it is fed; see `octavo.compare.methods.encoding`.
    row_limit : int or None
        Training rows beyond which it learns from a random part.
    cost : str
        How its time and memory grow.
    needs : str
        What data it needs, in words.
    one_vs_rest : bool
        Whether several classes are learnt one against the rest.
    aliases : tuple of str
        Other names on the command line.
    balance : {"", "weights", "threshold"}
        How rare classes are given their weight: by class weights, or by a threshold that is tuned
        on the training part.
    balance_score : str
        The score that a threshold is tuned for.
    simple : int
        Settings at the beginning of the grid that are preferred; see `octavo.catalogue.Trial`.
    """

    name: str
    origin: str
    estimator: Any
    grid: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    encoding: str = "numbers"
    row_limit: int | None = None
    cost: str = "rows"
    needs: str = "a table"
    one_vs_rest: bool = False
    aliases: tuple[str, ...] = ()
    balance: str = ""
    balance_score: str = ""
    simple: int = 0

    def build(self, problem: Problem, params: dict[str, Any], seed: int) -> Any:
        """Return the unfitted model for a problem: encoding and estimator.

        Parameters
        ----------
        problem : Problem
            What it will be fitted on.
        params : dict
            Settings of the estimator.
        seed : int
            For whatever is random in it.

        Returns
        -------
        model : estimator
            With ``fit(X, y)``, or ``fit(X)`` for rankings and clusterings.
        """
        estimator = clone(self.estimator).set_params(**params)
        seeds = {k: seed for k in estimator.get_params() if k.split("__")[-1] == "random_state"}
        estimator.set_params(**seeds)
        if self.balance == "weights":
            estimator.set_params(class_weight="balanced")
        if problem.task == "ranking":
            return estimator
        if self.encoding == "native" and problem.categories:
            owner = estimator.regressor if isinstance(estimator, PoissonHazard) else estimator
            owner.set_params(categorical_features=list(range(len(problem.categories))))
        encoder = make_encoder(self.encoding, problem)
        if problem.task == "clustering":
            return ClusterModel(encoder, estimator)
        if self.one_vs_rest:
            estimator = OneVsRestClassifier(estimator)
        model = Pipeline([("encode", encoder), ("model", estimator)])
        if self.balance == "threshold":
            return TunedThresholdClassifierCV(
                model, scoring=self.balance_score, cv=3, random_state=seed
            )
        return model


@dataclass(frozen=True)
class NotTried:
    """A method that was left out before the start, and why."""

    name: str
    why: str


def candidates_for(
    problem: Problem, wanted: Iterable[str] = ()
) -> tuple[list[Candidate], list[NotTried]]:
    """Return the methods to try, cheapest first, and those that do not fit.

    Parameters
    ----------
    problem : Problem
        What they are tried on.
    wanted : iterable of str
        Names, or "octavo", "baselines", "all"; empty for the default choice.

    Returns
    -------
    chosen : list of Candidate
        The methods to try.
    left_out : list of NotTried
        Methods that do the task but not on these data, and why.
    """
    found, left_out = octavo_candidates(problem)
    usual = list(baselines(problem))
    known = {type(candidate.estimator) for candidate in usual}  # a baseline may be octavo's own
    found = [pair for pair in found if type(pair[0].estimator) not in known]
    everything = [*usual, *(candidate for candidate, _ in found)]
    fitting, more = _that_fit(everything, problem)
    left_out += more
    main = {candidate.name for candidate, is_main in found if is_main}
    names = [name.strip() for given in wanted for name in given.split(",") if name.strip()]
    if not names:
        return [c for c in fitting if c.origin != "octavo" or c.name in main], left_out
    chosen: dict[str, Candidate] = {}
    for name in names:
        for candidate in _matching(name, fitting, left_out):
            chosen[candidate.name] = candidate
    order = [candidate.name for candidate in fitting]
    return sorted(chosen.values(), key=lambda c: order.index(c.name)), []


def _matching(name: str, fitting: list[Candidate], left_out: list[NotTried]) -> list[Candidate]:
    groups = {
        "all": lambda c: True,
        "octavo": lambda c: c.origin == "octavo",
        "baselines": lambda c: c.origin != "octavo",
    }
    lower = name.lower()
    if lower in groups:
        return [c for c in fitting if groups[lower](c)]
    exact = [c for c in fitting if lower in (c.name.lower(), *c.aliases)]
    if exact:
        return exact
    for item in left_out:
        if item.name.lower() == lower:
            raise InputError(f"{item.name} cannot be tried here: {item.why}.")
    known = [alias for c in fitting for alias in (c.name, *c.aliases)]
    raise InputError(str(UnknownNameError("method for this task", name, [*known, *groups])))


def _that_fit(found: list[Candidate], problem: Problem) -> tuple[list[Candidate], list[NotTried]]:
    """Leave out what cannot take the problem's features."""
    if problem.task == "ranking" or not problem.sparse:
        return found, []
    kept, left_out = [], []
    n, d = problem.X.shape
    for candidate in found:
        rows = min(n, candidate.row_limit or n)
        if candidate.encoding == "splines":
            left_out.append(
                NotTried(candidate.name, "splines are for columns, not for sparse rows")
            )
        elif candidate.estimator.__sklearn_tags__().input_tags.sparse:
            kept.append(candidate)
        elif candidate.encoding not in ("discrete", "splines") and rows * d <= DENSE_CELLS:
            kept.append(replace(candidate, encoding="dense"))
        else:
            left_out.append(
                NotTried(
                    candidate.name,
                    f"it takes no sparse rows, and {rows:,} x {d:,} cells are too many",
                )
            )
    return kept, left_out


# --- octavo --------------------------------------------------------------------------------------


def octavo_candidates(
    problem: Problem,
) -> tuple[list[tuple[Candidate, bool]], list[NotTried]]:
    """Return octavo's methods for a task, each with whether it is its record's main one."""
    found: list[tuple[Candidate, bool]] = []
    left_out: list[NotTried] = []
    for _, method in methods():
        names = sorted(method.members, key=lambda member: member != method.name)
        has_main = False
        for name in names:
            outcome = _octavo_candidate(method, name, problem)
            if isinstance(outcome, NotTried):
                left_out.append(outcome)
            elif outcome is not None:
                found.append((outcome, not has_main))
                has_main = True
    return found, left_out


def _octavo_candidate(method: Method, name: str, problem: Problem) -> Candidate | NotTried | None:
    cls: Any = method.load(name)
    if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator) and hasattr(cls, "fit")):
        return None
    if problem.task == "ranking":
        return _octavo_ranker(method, cls, problem)
    parameters = inspect.signature(cls).parameters.values()
    required = [
        p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    told = list(inspect.signature(cls.fit).parameters)[2:3]  # after self and the rows
    if required or inspect.isabstract(cls) or told not in ([], ["y"], ["Y"]):
        return None
    estimator: Any = cls()
    tags = estimator.__sklearn_tags__()
    if not tags.input_tags.two_d_array or not _does_task(tags, problem.task, estimator):
        return None
    if tools := TOOL_NAMES & set(estimator.get_params(deep=False)):
        return NotTried(name, f"it is a tool around other models (its {', '.join(sorted(tools))})")
    return _with_hints(method, name, estimator, tags, problem)


def _does_task(tags: Any, task: str, estimator: Any) -> bool:
    if task == "survival":
        return hasattr(estimator, "predict") and hasattr(estimator, "predict_survival_function")
    if task == "multilabel":
        return tags.estimator_type == "classifier" and tags.classifier_tags.multi_label
    if task == "classification" and not tags.target_tags.single_output:
        return False  # it labels rows with sets alone
    kinds = {"classification": "classifier", "regression": "regressor", "clustering": "clusterer"}
    return tags.estimator_type == kinds[task]


def _with_hints(
    method: Method, name: str, estimator: Any, tags: Any, problem: Problem
) -> Candidate | NotTried:
    hint = method.trials.get(name, Trial())
    known = estimator.get_params(deep=False)
    estimator.set_params(**{k: v for k, v in hint.params.items() if k in known})
    n_features = problem.X.shape[1]
    if hint.feature_limit == 0:
        return NotTried(name, "its rows are no plain columns: it is called from Python")
    if hint.feature_limit is not None and n_features > hint.feature_limit:
        return NotTried(name, f"{n_features} columns; it is tried up to {hint.feature_limit}")
    if problem.n_rows < hint.rows_needed:
        return NotTried(name, f"{problem.n_rows} rows; it is tried from {hint.rows_needed} on")
    quadratic = method.quadratic
    n_classes = len(problem.classes)
    one_vs_rest = (
        problem.task == "classification" and n_classes > 2 and not tags.classifier_tags.multi_class
    )
    needs = ["several classes one against the rest"] if one_vs_rest else []
    if tags.input_tags.categorical:
        encoding = "discrete"
        needs.append("numbers cut into intervals")
    elif "data_norm" in known:
        encoding = "unit"
        needs.append("rows of length one")
    elif tags.input_tags.positive_only:
        encoding = "positive"
        needs.append("no negative numbers")
    else:
        encoding = "numbers"
        needs.append("numbers")
    if "epsilon" in known and "ledger" in known:
        needs.append(f"(differentially private, ε = {known['epsilon']:g} a fit)")
    if problem.task == "clustering" and "n_clusters" in known:
        finds_its_own = not isinstance(known["n_clusters"], int)  # "auto", or None
        own: list[dict[str, Any]] = [{}] if finds_its_own else []
        grid = own + [{"n_clusters": k} for k in CLUSTER_COUNTS]
    else:
        grid = widened(hint.grid) if hint.grid is not None else default_grid(estimator)
    return Candidate(
        name,
        "octavo",
        estimator,
        grid,
        encoding,
        hint.row_limit or (QUADRATIC_ROWS if quadratic else None),
        hint.cost or ("the square of the rows" if quadratic else "rows"),
        ", ".join(needs),
        one_vs_rest,
        simple=hint.simple,
    )


def default_grid(estimator: Any) -> list[dict[str, Any]]:
    """Return values around the default of the main parameter; none for a CV class."""
    known = estimator.get_params(deep=False)
    if type(estimator).__name__.endswith("CV"):
        return [{}]
    for name in GRID_NAMES:
        value = known.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return widened([{name: value * factor} for factor in (0.1, 1.0, 10.0)])
    return [{}]


def widened(grid: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many settings as every method may try, where the grid is of one real parameter.

    They are evenly spaced in its logarithm, from one step below the grid to one above. Other grids
    stay: what else a method could try is not known.
    """
    found = [dict(params) for params in grid]
    if len(found) < 2 or any(set(p) != set(found[0]) or len(p) != 1 for p in found):
        return found
    (name,) = found[0]
    values = [p[name] for p in found]
    if not all(isinstance(v, float) and v > 0 for v in values) or values != sorted(values):
        return found
    step = (values[-1] / values[0]) ** (1 / (len(values) - 1))
    exponents = np.linspace(-1, len(values), EVALUATIONS)
    return [{name: float(f"{values[0] * step**e:.4g}")} for e in exponents]


def balanced(candidate: Candidate, problem: Problem, score: str) -> Candidate:
    """Return a candidate that gives rare classes their weight, as a score of classes asks for.

    Parameters
    ----------
    candidate : Candidate
        As it is fitted for accuracy.
    problem : Problem
        What it is tried on.
    score : str
        What methods are ranked by.

    Returns
    -------
    candidate : Candidate
        With class weights where it takes them, else with a threshold that is tuned on the training
        part where it gives margins or chances of two classes; else as it was.
    """
    if problem.task != "classification" or score not in BALANCING:
        return candidate
    estimator = candidate.estimator
    if score == "balanced_accuracy" and "class_weight" in estimator.get_params(deep=False):
        return replace(candidate, balance="weights")
    counts = np.unique(problem.y, return_counts=True)[1]
    can = hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")
    guess = isinstance(estimator, DummyClassifier)
    if len(counts) == 2 and counts.min() >= RARE_ROWS and can and not guess:
        return replace(candidate, balance="threshold", balance_score=score)
    return candidate


def _octavo_ranker(method: Method, cls: type, problem: Problem) -> Candidate | None:
    if method.room != "ranking":
        return None
    if hasattr(cls, "pair_proba") and not cls().__sklearn_tags__().target_tags.required:
        wrapped: Any = PreferenceRanker(cls())
        needs = "games; their order means nothing"
    elif hasattr(cls, "partial_fit") and hasattr(cls, "predict_win"):
        wrapped, needs = StreamRanker(cls()), "games in their order"
    else:
        return None
    hint = method.trials.get(cls.__name__, Trial())
    grid = [{f"ranker__{k}": v for k, v in p.items()} for p in hint.grid or ({},)]
    return Candidate(
        cls.__name__,
        "octavo",
        wrapped,
        grid,
        cost="games",
        needs=needs,
    )


# --- baselines -----------------------------------------------------------------------------------


def baselines(problem: Problem) -> Iterator[Candidate]:
    """Yield what a practitioner would try first, cheapest first."""
    from octavo.compare.methods.baselines import (  # they are Candidates of here
        classifiers,
        labellers,
        regressors,
    )

    with_target = {
        "classification": classifiers,
        "multilabel": labellers,
        "regression": regressors,
    }
    if problem.task in with_target:
        yield from with_target[problem.task](problem)
        return
    makers = {"survival": _survival, "ranking": _rankers, "clustering": _clusterers}
    yield from makers[problem.task]()


def _grid(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def _sk(
    name: str, estimator: Any, grid: list[dict[str, Any]], *aliases: str, **more: Any
) -> Candidate:
    return Candidate(name, "scikit-learn", estimator, grid, aliases=aliases, **more)


def _survival() -> Iterator[Candidate]:
    yield Candidate(
        "KaplanMeier",
        "baseline",
        KaplanMeierBaseline(),
        aliases=("guess",),
        needs="nothing: one curve for all",
    )
    yield Candidate(
        "RidgeCox",
        "baseline",
        RidgeCox(),
        _grid("alpha", 1.0, 10.0, 100.0),
        needs="numbers",
        aliases=("linear", "cox"),
    )
    yield _sk(
        "PoissonForest",
        PoissonHazard(RandomForestRegressor(criterion="poisson")),
        _grid("regressor__min_samples_leaf", 10, 30),
        "forest",
        encoding="codes",
        cost="rows, many trees",
        needs="anything",
    )
    yield _sk(
        "PoissonBoosting",
        PoissonHazard(HistGradientBoostingRegressor(loss="poisson", learning_rate=0.05)),
        _grid("regressor__max_leaf_nodes", 3, 8),
        "boosting",
        encoding="native",
        needs="anything",
    )


def _rankers() -> Iterator[Candidate]:
    yield Candidate(
        "WinRate", "baseline", WinRate(), _grid("prior", 1.0, 5.0), needs="games", cost="games"
    )
    yield Candidate(
        "BradleyTerry",
        "baseline",
        BradleyTerry(),
        _grid("C", 0.1, 1.0, 10.0),
        needs="games; their order means nothing",
        cost="games",
        aliases=("linear",),
    )


def _clusterers() -> Iterator[Candidate]:
    yield _sk(
        "KMeans",
        KMeans(n_init=4),
        _grid("n_clusters", *CLUSTER_COUNTS),
        needs="numbers; round clusters",
    )
    yield _sk(
        "GaussianMixture",
        GaussianMixture(reg_covar=1e-3),
        _grid("n_components", *CLUSTER_COUNTS),
        needs="numbers; elliptic clusters",
    )
    yield _sk(
        "AgglomerativeClustering",
        AgglomerativeClustering(),
        _grid("n_clusters", *CLUSTER_COUNTS),
        row_limit=QUADRATIC_ROWS,
        cost="the square of the rows",
        needs="numbers",
    )
    yield _sk(
        "HDBSCAN",
        HDBSCAN(copy=True),
        _grid("min_cluster_size", 5, 20),
        row_limit=QUADRATIC_ROWS,
        cost="the square of the rows",
        needs="numbers; clusters of any shape, with outliers",
    )
