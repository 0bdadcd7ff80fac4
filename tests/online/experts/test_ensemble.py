"""Ensembles of experts against the strategies played by hand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from octavo.online import (
    AdaHedge,
    ExpertEnsembleClassifier,
    ExpertEnsembleRegressor,
    FlipFlop,
    Hedge,
)


def forecasts(seed=0, n=120, k=4):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y[:, None] + rng.normal(scale=0.5 + 0.2 * np.arange(k), size=(n, k)), y


LOSSES = {
    "squared": lambda y, f: (y[:, None] - f) ** 2,
    "absolute": lambda y, f: np.abs(y[:, None] - f),
    "pinball": lambda y, f: np.where(
        y[:, None] > f, 0.2 * (y[:, None] - f), 0.8 * (f - y[:, None])
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_of_forecasts_are_a_game(loss):
    X, y = forecasts()
    ensemble = ExpertEnsembleRegressor(loss=loss, quantile=0.2).fit(X, y)
    game = FlipFlop()
    trace = game.run(LOSSES[loss](y, X))
    np.testing.assert_allclose(ensemble.weights_, game.weights(), rtol=1e-12)
    np.testing.assert_allclose(ensemble.predict(X[:5]), X[:5] @ ensemble.weights_)
    np.testing.assert_allclose(ensemble.expert_loss_, LOSSES[loss](y, X).mean(axis=0))
    mixed = (trace.weights_ * X).sum(axis=1)
    assert ensemble.loss_ == pytest.approx(LOSSES[loss](y, mixed[:, None]).mean())
    assert ensemble.loss_ <= trace.loss_.mean()  # the losses are convex
    bound = trace.bounds()["theorem 15, losses"][-1]
    assert len(y) * ensemble.loss_ <= len(y) * ensemble.expert_loss_.min() + bound


def test_batches_and_calls_do_not_matter_for_forecasts():
    X, y = forecasts()
    one = ExpertEnsembleRegressor(strategy=AdaHedge()).fit(X, y)
    other = ExpertEnsembleRegressor(strategy=AdaHedge(), batch_size=50)
    other.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.loss_ == pytest.approx(other.loss_)
    np.testing.assert_array_equal(one.fit(X, y).weights_, other.weights_)  # fit starts afresh


def test_missing_forecasts_sleep():
    X, y = forecasts()
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    ensemble = ExpertEnsembleRegressor(strategy=AdaHedge()).fit(X, y)
    awake = ~np.isnan(X)
    losses = np.where(awake, (y[:, None] - X) ** 2, 0.0)
    game = AdaHedge()
    game.run(losses, awake)
    # Rows that nobody misses are played by the kernel without sleepers: another rounding of the
    # exponent, which is at most 23, so a unit of its last place is 4e-15 of a weight.
    np.testing.assert_allclose(ensemble.weights_, game.weights(), rtol=4e-14)
    weights = game.weights(awake[7])
    assert ensemble.predict(X[7:8])[0] == pytest.approx(np.nansum(X[7] * weights))
    np.testing.assert_allclose(ensemble.expert_loss_, np.nanmean((y[:, None] - X) ** 2, axis=0))
    with pytest.raises(ValueError, match="about row 1"):
        ensemble.predict([[1.0] * 4, [np.nan] * 4])
    with pytest.raises(ValueError, match="anything in row 0"):
        ensemble.partial_fit([[np.nan] * 4], [0.0])


def test_online_experts_learn_after_they_predict():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=90)
    experts = [
        (f"eta {eta}", SGDRegressor(learning_rate="constant", eta0=eta, random_state=0))
        for eta in (1e-4, 1e-1)
    ]
    ensemble = ExpertEnsembleRegressor(experts, AdaHedge(), batch_size=10).fit(X, y)
    own = [clone(expert) for _, expert in experts]
    game, silent = AdaHedge(), 0
    for start in range(0, 90, 10):
        rows = slice(start, start + 10)
        if start:
            said = np.stack([expert.predict(X[rows]) for expert in own], axis=1)
            for row in (y[rows, None] - said) ** 2:
                game.update(row)
        else:
            silent = 10
        for expert in own:
            expert.partial_fit(X[rows], y[rows])
    assert ensemble.n_silent_ == silent
    np.testing.assert_array_equal(ensemble.weights_, game.weights())
    for expert, mine in zip(ensemble.experts_, own):
        np.testing.assert_array_equal(expert.coef_, mine.coef_)
    said = np.stack([expert.predict(X) for expert in own], axis=1)
    np.testing.assert_allclose(ensemble.predict(X), said @ game.weights())
    assert not hasattr(experts[0][1], "coef_"), "the given experts must stay as they were"
    assert list(ensemble.named_experts_) == ["eta 0.0001", "eta 0.1"]
    assert ensemble.get_params()["eta 0.1__eta0"] == 0.1
    ensemble.set_params(**{"eta 0.1__eta0": 0.2})
    assert experts[1][1].eta0 == 0.2


def test_fitted_experts_stay_as_they_are():
    X, y = forecasts()
    line = LinearRegression().fit(X, y)
    frozen = FrozenEstimator(SGDRegressor(random_state=0).fit(X, y))
    ensemble = ExpertEnsembleRegressor([("line", line), ("frozen", frozen)]).fit(X, y)
    assert ensemble.experts_[0] is line
    assert ensemble.n_silent_ == 0
    np.testing.assert_array_equal(ensemble.experts_[1].estimator.coef_, frozen.estimator.coef_)
    game = FlipFlop()
    game.run(np.stack([(y - e.predict(X)) ** 2 for e in (line, frozen)], axis=1))
    np.testing.assert_array_equal(ensemble.weights_, game.weights())


def test_drawn_experts_come_with_their_weights():
    X = np.tile([[0.0, 1.0]], (20_000, 1))
    ensemble = ExpertEnsembleRegressor(strategy=Hedge(1.0), combine="sample", random_state=0)
    ensemble.fit([[0.0, 1.0]], [0.0])
    drawn = ensemble.predict(X)
    assert set(drawn) == {0.0, 1.0}
    weight = ensemble.weights_[1]
    assert drawn.mean() == pytest.approx(weight, abs=4 * np.sqrt(weight * (1 - weight) / 20_000))
    again = clone(ensemble).fit([[0.0, 1.0]], [0.0]).predict(X)
    np.testing.assert_array_equal(drawn, again)


def test_a_loss_or_gain_of_ones_own():
    X, y = forecasts()

    def gain(y, said):
        return -((y[:, None] - said) ** 2)

    one = ExpertEnsembleRegressor(strategy=AdaHedge(gains=True), loss=gain).fit(X, y)
    other = ExpertEnsembleRegressor(strategy=AdaHedge()).fit(X, y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.loss_ == pytest.approx(-other.loss_)
    with pytest.raises(ValueError, match=r"shape \(1, 4\), got \(1,\)"):
        ExpertEnsembleRegressor(loss=lambda y, said: y).fit(X, y)
    with pytest.raises(ValueError, match="infinite"):
        ExpertEnsembleRegressor(loss=lambda y, said: np.full(said.shape, np.inf)).fit(X, y)


class Fixed(ClassifierMixin, BaseEstimator):
    """A rule that always says the same and learns nothing."""

    def __init__(self, label="a"):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


class Certain(Fixed):
    """One that gives its label a probability of 0.9 and only knows two classes."""

    @property
    def classes_(self):
        return np.array(sorted({self.label, "c"}))

    def predict_proba(self, X):
        return np.tile(np.where(self.classes_ == self.label, 0.9, 0.1), (len(X), 1))


def test_probabilities_meet_the_classes_of_the_ensemble():
    X, y = np.zeros((3, 1)), np.array(["a", "b", "c"])
    experts = [("one", Certain("a")), ("two", Certain("b")), ("label", Fixed("z"))]
    ensemble = ExpertEnsembleClassifier(experts, Hedge(0.1), loss="squared").fit(X, y)
    said = np.array([[0.9, 0, 0.1], [0, 0.9, 0.1], [0, 0, 0]])  # "z" is no class at all
    losses = np.array([[((s - truth) ** 2).sum() for s in said] for truth in np.eye(3)])
    game = Hedge(0.1)
    game.run(losses)
    np.testing.assert_allclose(ensemble.weights_, game.weights())
    combined = game.weights() @ said
    np.testing.assert_allclose(ensemble.predict_proba(X[:1])[0], combined / combined.sum())
    assert ensemble.predict(X[:1])[0] == "abc"[np.argmax(combined)]


@pytest.mark.parametrize("loss", ["log", "squared", "zero_one"])
def test_losses_of_classifiers(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    trees = [
        (str(depth), DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:30], y[:30]))
        for depth in (1, 3, None)
    ]
    ensemble = ExpertEnsembleClassifier(trees, AdaHedge(), loss=loss).fit(X[30:], y[30:])
    given = np.stack([tree.predict_proba(X[30:]) for _, tree in trees], axis=1)
    right = given[np.arange(30), :, y[30:]]
    losses = {
        "log": -np.log(np.maximum(right, 1e-15)),
        "squared": 2 * (1 - right) ** 2,
        "zero_one": np.stack([tree.predict(X[30:]) != y[30:] for _, tree in trees], axis=1),
    }[loss]
    game = AdaHedge()
    game.run(losses.astype(float))
    np.testing.assert_allclose(ensemble.weights_, game.weights(), rtol=1e-10)


def test_partial_fit_of_classifiers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    experts = [("nb", GaussianNB()), ("sgd", SGDClassifier(loss="log_loss", random_state=0))]
    whole = ExpertEnsembleClassifier(experts, batch_size=20).fit(X, y)
    parts = ExpertEnsembleClassifier(experts, batch_size=20)
    with pytest.raises(ValueError, match="classes must be given"):
        parts.partial_fit(X, y)
    parts.partial_fit(X[:20], y[:20], classes=[0, 1, 2]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match="none of the classes"):
        parts.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        parts.partial_fit(X[:1], [1], classes=[0, 1])


class NoPredict(RegressorMixin, BaseEstimator):
    """Not an expert."""


@pytest.mark.parametrize(
    ("experts", "words"),
    [
        ([], "pairs"),
        ([LinearRegression()], "pairs"),
        ([("a", LinearRegression())], "not fitted and cannot learn"),
        ([("a", NoPredict())], "cannot predict"),
        ([("a", SGDRegressor()), ("a", SGDRegressor())], "unique"),
    ],
)
def test_bad_experts(experts, words):
    X, y = forecasts()
    with pytest.raises(ValueError, match=words):
        ExpertEnsembleRegressor(experts).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "hinge"}, "'loss'"),
        ({"strategy": "flipflop"}, "'strategy'"),
        ({"combine": "vote"}, "'combine'"),
        ({"quantile": 1.0}, "'quantile'"),
        ({"batch_size": 0}, "'batch_size'"),
    ],
)
def test_bad_parameters(parameters, words):
    X, y = forecasts()
    with pytest.raises(ValueError, match=words):
        ExpertEnsembleRegressor(**parameters).fit(X, y)
