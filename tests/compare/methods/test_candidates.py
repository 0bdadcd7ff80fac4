"""Methods are found through the catalogue and their tags; sizes are respected."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin

from octavo import catalogue
from octavo.catalogue import Method, methods
from octavo.compare import InputError, prepare
from octavo.compare.methods.candidates import (
    EVALUATIONS,
    QUADRATIC_ROWS,
    balanced,
    candidates_for,
    default_grid,
    octavo_candidates,
    widened,
)
from octavo.compare.running.folds import Settings, fit_model, outer_split, run_fold
from octavo.compare.table.problems import Problem
from octavo.data import make_games
from tests.compare.test_labels import label_table

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "z": RNG.normal(size=N),
        "c": RNG.choice(["p", "q"], N),
        "k": RNG.choice(["u", "v"], N),
    }
).assign(m=RNG.choice(["a", "b", "c"], N), y=RNG.normal(size=N))
FRAME.loc[::9, "x"] = np.nan
FRAME.loc[::11, "c"] = None


def names(problem, *wanted):
    return [c.name for c in candidates_for(problem, wanted)[0]]


def games_problem():
    games, _ = make_games(40, 6, random_state=0)
    return Problem("ranking", games, None, "games", "")


PROBLEMS = {
    "classification": prepare(FRAME.drop(columns=["m", "y"]), "k"),
    "several classes": prepare(FRAME.drop(columns=["k", "y"]), "m"),
    "regression": prepare(FRAME.drop(columns=["m", "k"]), "y"),
    "clustering": prepare(FRAME[["x", "z", "c"]]),
    "survival": prepare(
        FRAME.assign(t=np.abs(FRAME["y"]), e=RNG.integers(0, 2, N))[["x", "c", "t", "e"]],
        time="t",
        event="e",
    ),
    "ranking": games_problem(),
}


def test_the_usual_baselines_are_there():
    assert {
        "LogisticRegression",
        "SVC",
        "KNeighborsClassifier",
        "ExtraTreesClassifier",
        "SplineLogisticRegression",
        "RandomForestClassifier",
        "HistGradientBoostingClassifier",
    } <= set(names(PROBLEMS["classification"]))
    assert {"Ridge", "SVR", "RandomForestRegressor", "HistGradientBoostingRegressor"} <= set(
        names(PROBLEMS["regression"])
    )
    assert {"KaplanMeier", "RidgeCox"} <= set(names(PROBLEMS["survival"]))
    assert {"KMeans", "GaussianMixture"} <= set(names(PROBLEMS["clustering"]))


def test_octavos_methods_are_found_by_their_tags():
    """Every table classifier of the catalogue takes part or is left out with a reason."""
    found, left_out = octavo_candidates(PROBLEMS["classification"])
    seen = {c.name for c, _ in found} | {item.name for item in left_out}
    sets, left_out = octavo_candidates(prepare(label_table(), "warm:late"))
    seen_for_sets = {c.name for c, _ in sets} | {item.name for item in left_out}
    for _, method in methods():
        for member in method.members:
            cls = method.load(member)
            if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
                continue
            try:
                tags = cls().__sklearn_tags__()
            except (TypeError, AttributeError):
                continue
            if tags.estimator_type == "classifier" and tags.input_tags.two_d_array:
                single = tags.target_tags.single_output
                assert member in (seen if single else seen_for_sets), member
    assert "OnlineRanker" in names(PROBLEMS["ranking"])
    assert "HybridLinearRegressor" in names(PROBLEMS["regression"])


def test_a_record_brings_its_main_class_and_all_brings_every_one():
    main, every = names(PROBLEMS["classification"]), names(PROBLEMS["classification"], "all")
    assert "AROW" in main
    assert "SCW" not in main
    assert "SCW" in every
    assert set(main) < set(every)


class NewClassifier(ClassifierMixin, BaseEstimator):
    """A method that a later version might bring: two classes only, with a main parameter."""

    def __init__(self, alpha=2.0, random_state=None):
        self.alpha = alpha
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        assert len(self.classes_) == 2
        return self

    def decision_function(self, X):
        return np.zeros(len(X))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class NewClusterer(ClusterMixin, BaseEstimator):
    def __init__(self, n_clusters=3):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        self.labels_ = np.arange(len(X)) % self.n_clusters
        return self


def with_record(monkeypatch, cls, room):
    record = Method(cls.__name__, room, "m", *[""] * 5, (), (), quadratic=room == "svm")
    monkeypatch.setattr(Method, "members", (cls.__name__,))
    monkeypatch.setattr(Method, "load", lambda self, member: cls)
    monkeypatch.setattr("octavo.compare.methods.candidates.methods", lambda: [(None, record)])


@pytest.mark.parametrize("room", ["svm", "online"])
def test_a_method_added_later_takes_part_without_an_edit(monkeypatch, room):
    with_record(monkeypatch, NewClassifier, room)
    (candidate,) = [
        c for c in candidates_for(PROBLEMS["several classes"])[0] if c.origin == "octavo"
    ]
    alphas = [params["alpha"] for params in candidate.grid]
    assert alphas == pytest.approx(np.geomspace(0.02, 200, EVALUATIONS), rel=1e-3)
    assert candidate.one_vs_rest
    # A method that may form n x n matrices learns from a part of many rows.
    assert candidate.row_limit == (QUADRATIC_ROWS if room == "svm" else None)
    model = fit_model(candidate, PROBLEMS["several classes"], {"alpha": 3.0}, 7)
    assert model.predict(PROBLEMS["several classes"].X).shape == (N,)
    assert model["model"].estimator.random_state == 7


def test_a_clusterer_added_later_takes_part(monkeypatch):
    with_record(monkeypatch, NewClusterer, "cluster")
    problem = PROBLEMS["clustering"]
    (candidate,) = [c for c in candidates_for(problem)[0] if c.origin == "octavo"]
    model = fit_model(candidate, problem, candidate.grid[0], 0)
    assert set(model.predict(problem.X)) == {0, 1}


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_candidate_fits_every_grid_point_on_gaps_and_words(kind):
    """Missing cells, categories and categories unseen at fit are in these data."""
    problem = PROBLEMS[kind]
    half = problem.take(np.arange(problem.n_rows // 2))
    for candidate in candidates_for(problem)[0]:
        assert candidate.needs
        assert candidate.cost
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit_model(candidate, half, candidate.grid[-1], 0)
            if problem.task == "ranking":
                chance = model.predict_win(problem.X[-1][0])
                assert chance.sum() == pytest.approx(1)
            else:
                later = problem.X.assign(c="never seen before")
                assert len(model.predict(later)) == N


def test_rows_to_come_may_lack_what_the_training_rows_have():
    whole = prepare(FRAME[["x", "z", "c", "k"]].fillna({"x": 0.0, "c": "p"}), "k")
    later = whole.X.assign(z=np.nan, c=None)
    for candidate in candidates_for(whole, ["svm,forest,boosting,AROW,TANClassifier"])[0]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(fit_model(candidate, whole, {}, 0).predict(later)) == N


def test_names_aliases_groups_and_mistakes():
    problem = PROBLEMS["classification"]
    assert names(problem, "svm,FOREST", "arow") == ["SVC", "RandomForestClassifier", "AROW"]
    assert {"SVC", "guess"}.isdisjoint(names(problem, "octavo"))
    assert "AROW" not in names(problem, "baselines")
    with pytest.raises(InputError, match=r"did you mean AROW\?|did you mean AROW or"):
        names(problem, "AROWW")
    with pytest.raises(InputError, match="tool around other models"):
        names(problem, "CustomOnlineClassifier")


def test_grids_of_unknown_methods():
    class Plain(BaseEstimator):
        def __init__(self, depth=3):
            self.depth = depth

    class WithC(BaseEstimator):
        def __init__(self, C=4.0, alpha=1.0):
            self.C, self.alpha = C, alpha

    class WithCCV(WithC):
        pass

    assert default_grid(Plain()) == [{}]
    assert [p["C"] for p in default_grid(WithC())] == pytest.approx(
        np.geomspace(0.04, 400, EVALUATIONS), rel=1e-3
    )
    assert default_grid(WithCCV()) == [{}]


def test_every_method_may_try_the_same_number_of_settings():
    """Grids of one real parameter are widened; what else a record lists stays as it is."""
    assert [p["r"] for p in widened([{"r": 0.1}, {"r": 1.0}, {"r": 10.0}])] == pytest.approx(
        np.geomspace(0.01, 100, EVALUATIONS), rel=1e-3
    )
    for grid in ([{}], [{"m": "a"}, {"m": "b"}], [{"k": 1}, {"k": 2}], [{"a": 1.0, "b": 2.0}]):
        assert widened(grid) == grid
    for kind in ("classification", "regression"):
        lengths = {c.name: len(c.grid) for c in candidates_for(PROBLEMS[kind], ["baselines"])[0]}
        assert max(lengths.values()) == EVALUATIONS
        guess = "DummyClassifier" if kind == "classification" else "DummyRegressor"
        neighbours = "KNeighborsClassifier" if kind == "classification" else "KNeighborsRegressor"
        short = {name for name, n in lengths.items() if n < EVALUATIONS}
        assert short <= {guess, neighbours}  # 60 rows do not hold 40 neighbours
    for candidate in candidates_for(PROBLEMS["classification"], ["all"])[0]:
        assert len(candidate.grid) <= EVALUATIONS


def test_the_svm_is_tuned_in_gamma_too():
    """Rings: with the default gamma and C alone the machine is behind."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 300), rng.integers(0, 6, 300)
    frame = pd.DataFrame(
        {
            "a": (radius + 1) * np.cos(angle),
            "b": (radius + 1) * np.sin(angle),
            "k": np.where(radius % 2, "odd", "even"),
        }
    )
    problem = prepare(frame, "k")
    (svm,) = candidates_for(problem, ["svm"])[0]
    assert {len({p[name] for p in svm.grid}) for name in ("C", "gamma")} == {3}
    tuned = run_fold(problem, svm, 0, Settings())
    svm.grid = [{"C": c} for c in (1.0, 10.0, 100.0)]
    in_c_alone = run_fold(problem, svm, 0, Settings())
    assert tuned.score > in_c_alone.score


def test_splines_follow_what_lines_cannot():
    x = RNG.uniform(-2, 2, 200)
    frame = pd.DataFrame({"x": x, "z": RNG.normal(size=200), "y": np.cos(3 * x)})
    problem = prepare(frame, "y")
    chosen = {c.name: c for c in candidates_for(problem, ["spline,linear"])[0]}
    assert run_fold(problem, chosen["Ridge"], 0, Settings(score="r2")).score < 0.2
    assert run_fold(problem, chosen["SplineRidge"], 0, Settings(score="r2")).score > 0.7


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.parametrize("kind", ["classification", "several classes", "regression"])
def test_boosting_packages_take_part_where_they_are_installed(package, kind):
    pytest.importorskip(package)
    problem = PROBLEMS[kind]
    (candidate,) = candidates_for(problem, [package])[0]
    assert candidate.origin == package
    assert len(candidate.grid) == EVALUATIONS
    model = fit_model(candidate, problem, candidate.grid[0], 0)
    predicted = model.predict(problem.X.assign(c="never seen before"))
    if problem.task == "classification":
        assert set(predicted) <= set(problem.classes)


def test_labels_of_any_kind_for_what_takes_numbers_alone():
    from sklearn.linear_model import LogisticRegression

    from octavo.compare.methods.baselines import EncodedLabels

    X, y = RNG.normal(size=(60, 2)), np.array(["u", "v", "w"])[np.arange(60) % 3]
    X[:, 0] += np.arange(60) % 3
    wrapped = EncodedLabels(LogisticRegression()).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(wrapped.predict(X), plain.predict(X))
    np.testing.assert_allclose(wrapped.predict_proba(X), plain.predict_proba(X))


# --- rare classes --------------------------------------------------------------------------------


def rare_problem():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + 0.7 * rng.normal(size=600) > 1.9
    frame = pd.DataFrame(X, columns=list("abc")).assign(k=np.where(y, "rare", "usual"))
    return prepare(frame, "k")


def test_rare_classes_get_their_weight_by_weights_or_a_threshold():
    problem = rare_problem()
    settings = Settings(score="balanced_accuracy")
    found = candidates_for(problem, ["linear,knn,AROW,guess"])[0]
    chosen = {c.name: replace(c, grid=c.grid[2:5]) for c in found}
    weighed = {name: balanced(c, problem, "balanced_accuracy") for name, c in chosen.items()}
    assert {name: c.balance for name, c in weighed.items()} == {
        "LogisticRegression": "weights",
        "KNeighborsClassifier": "threshold",
        "AROW": "threshold",
        "DummyClassifier": "",
    }
    for name in ("LogisticRegression", "KNeighborsClassifier", "AROW"):
        plain = [run_fold(problem, chosen[name], f, settings).score for f in range(3)]
        outcomes = [run_fold(problem, weighed[name], f, settings) for f in range(3)]
        assert [o.error for o in outcomes] == [None] * 3
        assert np.mean([o.score for o in outcomes]) > np.mean(plain) + 0.05, name
    assert balanced(chosen["AROW"], problem, "accuracy").balance == ""


def test_the_rarer_class_is_judged_by_precision_and_chances():
    from sklearn.metrics import average_precision_score, brier_score_loss

    problem = rare_problem()
    (linear,) = candidates_for(problem, ["linear"])[0]
    outcome = run_fold(problem, linear, 0, Settings())
    train, test = outer_split(problem, Settings(), 0)
    model = fit_model(linear, problem.take(train), outcome.params, 0)
    chance = model.predict_proba(problem.take(test).X)[:, 0]  # of "rare"
    truth = problem.y[test] == "rare"
    assert outcome.extras["average_precision"] == pytest.approx(
        average_precision_score(truth, chance)
    )
    assert outcome.extras["brier"] == pytest.approx(brier_score_loss(truth, chance))
    assert outcome.chances == pytest.approx(chance)


def test_wide_sparse_rows_leave_out_what_cannot_take_them():
    X = sp.random(40, 300_000, 1e-4, format="csr", random_state=0)
    y = np.arange(40) % 2
    problem = Problem("classification", X, y, "wide", "y")
    chosen, left_out = candidates_for(problem)
    assert {"LogisticRegression", "SVC", "AROW"} <= {c.name for c in chosen}
    why = {item.name: item.why for item in left_out}
    assert "takes no sparse rows" in why["HistGradientBoostingClassifier"]
    small = Problem("classification", X[:, :5000], y, "narrow", "y")
    (boosting,) = candidates_for(small, ["boosting"])[0]
    assert fit_model(boosting, small, {}, 0).predict(small.X).shape == (40,)


def test_the_catalogue_is_what_is_read():
    assert candidates_for.__globals__["methods"] is catalogue.methods
