"""The recursion against plain numpy: steps, the mean without the newest iterate, R, chunks."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

from octavo.linear import AveragedSGDClassifier, AveragedSGDRegressor

SLOPES = {
    "log": lambda u, y: -y * expit(-y * u),
    "sqrt": lambda u, y: u / np.sqrt(1 + u * u) - y,
    "logcosh": lambda u, y: np.tanh(u - y),
}


def numerator(schedule, c, n, N, R):
    if schedule == "decay":
        return c / (R * R * np.sqrt(n))
    if schedule == "constant":
        return c / (R * R * np.sqrt(N))
    if schedule == "distance":
        return c / (R * np.sqrt(N))
    return c / (R * R * np.sqrt(2 ** int(np.log2(n))))


def plain(X, y, loss, schedule, c, R, N=None):
    """Return the mean of θ_0 .. θ_{N-1} and θ_N by the book, all iterates kept."""
    N = len(X) if N is None else N
    theta, iterates = np.zeros(X.shape[1]), []
    for n, (x, t) in enumerate(zip(X, y), start=1):
        iterates.append(theta)
        theta = theta - numerator(schedule, c, n, N, R) * SLOPES[loss](x @ theta, t) * x
    if schedule == "doubling":  # the last whole block [2^p, 2^(p+1)) of rounds, from 1
        p = int(np.log2(len(X) + 1)) - 1
        return np.mean(iterates[2**p - 1 : 2 ** (p + 1) - 1], axis=0), theta
    return np.mean(iterates, axis=0), theta


def stream(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1) / 1.5)[:, None]
    y = np.where(rng.random(n) < expit(2 * X @ rng.normal(size=d)), 1, -1)
    return X, y


SCHEDULES = ["decay", "constant", "doubling", "distance"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loss", ["log", "sqrt"])
def test_classifier_is_the_numpy_loop(loss, schedule, form):
    X, y = stream()
    R = 1.5 * (1 if loss == "log" else 2)
    model = AveragedSGDClassifier(
        loss, schedule, c=0.7, R=R, dist=0.7, fit_intercept=False, shuffle=False
    ).fit(form(X), y)
    mean, last = plain(X, y, loss, schedule, 0.7, R)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.last_coef_[0], last, rtol=1e-12, atol=1e-12)
    assert model.step_ == pytest.approx(numerator(schedule, 0.7, 300, 300, R), rel=1e-14)
    assert model.bounds_valid_
    assert (model.n_seen_, model.R_) == (300, R)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_regressor_is_the_numpy_loop_with_an_intercept_as_a_last_column(schedule):
    X, _ = stream(seed=1)
    y = X @ [1.0, 2.0, 0.0, -1.0] + 3 + np.random.default_rng(2).standard_t(2, size=len(X))
    long, R = np.c_[X, np.ones(len(X))], 2 * np.sqrt(1.5**2 + 1)
    model = AveragedSGDRegressor(schedule=schedule, c=1.3, R=R, dist=1.3, shuffle=False).fit(X, y)
    mean, last = plain(long, y, "logcosh", schedule, 1.3, R)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        np.r_[model.last_coef_, model.last_intercept_], last, rtol=1e-12, atol=1e-12
    )


def test_softmax_is_the_numpy_loop():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (200, 3)), rng.integers(0, 4, 200)
    R = np.sqrt(2) * np.linalg.norm(X, axis=1).max()
    theta, total = np.zeros((4, 3)), np.zeros((4, 3))
    for n, (x, label) in enumerate(zip(X, y), start=1):
        total += theta
        slopes = softmax(theta @ x) - np.eye(4)[label]
        theta = theta - 2.0 / (R * R * np.sqrt(n)) * np.outer(slopes, x)
    model = AveragedSGDClassifier(R=R, fit_intercept=False, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, total / 200, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.last_coef_, theta, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.predict_proba(X), softmax(X @ model.coef_.T, axis=1))
    assert model.bounds_valid_


def test_sqrt_loss_of_several_classes_is_one_against_the_rest():
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (150, 3)), rng.integers(0, 3, 150)
    options = {"loss": "sqrt", "fit_intercept": False, "shuffle": False}
    model = AveragedSGDClassifier(**options).fit(X, y)
    for c in range(3):
        single = AveragedSGDClassifier(**options).fit(X, y == c)
        np.testing.assert_allclose(model.coef_[c], single.coef_[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_running_radius_rescales_the_past():
    """With R None, steps so far become those that the longest row so far asks for."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3)) * np.linspace(0.9, 1.1, 60)[:, None]
    X[:, 0] += 2.0
    X[0] = [3.0, 0.0, 0.0]  # no row is twice as long
    y = np.where(rng.random(60) < 0.5, 1, -1)
    scaled, total, R = np.zeros(3), np.zeros(3), 0.0
    for n, (x, t) in enumerate(zip(X, y), start=1):
        R = max(R, np.linalg.norm(x))
        if n == 1:
            first = R
        total += scaled
        assert 2 * first > R  # the mean goes on
        scaled = scaled - 2.0 / np.sqrt(n) * SLOPES["log"](x @ scaled / R**2, t) * x
    model = AveragedSGDClassifier(fit_intercept=False, shuffle=False).fit(X, y)
    assert pytest.approx(R, rel=1e-14) == model.R_
    np.testing.assert_allclose(model.coef_[0], total / 60 / R**2, rtol=1e-12)
    np.testing.assert_allclose(model.last_coef_[0], scaled / R**2, rtol=1e-12)
    assert not model.bounds_valid_


def test_the_mean_begins_anew_when_the_radius_has_doubled():
    X, y = np.array([[1.0], [1.0], [4.0], [1.0]]), np.array([1, -1, 1, 1])
    scaled, iterates, R = 0.0, [], 0.0
    for n, (x, t) in enumerate(zip(X[:, 0], y), start=1):
        R = max(R, abs(x))
        iterates.append(scaled)
        scaled -= 2.0 / np.sqrt(n) * SLOPES["log"](x * scaled / R**2, t) * x
    model = AveragedSGDClassifier(fit_intercept=False, shuffle=False).fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(np.mean(iterates[2:]) / 16, rel=1e-13)


def test_same_recursion_as_scikit_learn_whose_mean_has_the_newest_iterate():
    X, y = stream(seed=6)
    theirs = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="invscaling", power_t=0.5, eta0=0.5 / 2.25,
        average=True, max_iter=1, tol=None, shuffle=False, fit_intercept=False,
    ).fit(X, y)  # fmt: skip
    ours = AveragedSGDClassifier(c=0.5, R=1.5, fit_intercept=False, shuffle=False).fit(X, y)
    n = len(y)
    np.testing.assert_allclose(
        theirs.coef_, ours.coef_ + ours.last_coef_ / n, rtol=1e-9, atol=1e-12
    )


# --- one stream, however it is cut -----------------------------------------------------------


def same_bits(one, other):
    for name in ("coef_", "intercept_", "last_coef_", "n_seen_", "R_", "step_", "bounds_valid_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 119), max_size=6),
    schedule=st.sampled_from(["decay", "constant", "doubling"]),
    n_classes=st.sampled_from([2, 3]),
    sparse=st.booleans(),
)
def test_chunks_give_the_same_bits(cuts, schedule, n_classes, sparse):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(120, 5)), rng.integers(0, n_classes, 120)
    X = sp.csr_matrix(X * (rng.random(X.shape) < 0.4)) if sparse else X
    make = AveragedSGDClassifier(schedule=schedule, horizon=120, shuffle=False)
    whole, parts = copy.deepcopy(make).fit(X, y), copy.deepcopy(make)
    ends = [0, *sorted(set(cuts)), 120]
    pieces = list(itertools.pairwise(ends))
    for low, high in pieces:
        parts.partial_fit(X[low:high], y[low:high], classes=range(n_classes))
    same_bits(whole, parts)
    chunks = ((X[low:high], y[low:high]) for low, high in pieces)
    same_bits(whole, copy.deepcopy(make).fit(chunks, classes=range(n_classes)))


def test_regressor_chunks_give_the_same_bits():
    X, _ = stream(seed=8)
    y = X[:, 0] + 0.1 * np.random.default_rng(8).normal(size=len(X))
    whole = AveragedSGDRegressor(shuffle=False).fit(X, y)
    parts = AveragedSGDRegressor(shuffle=False)
    for low in range(0, 300, 77):
        parts.partial_fit(X[low : low + 77], y[low : low + 77])
    same_bits(whole, parts)
    same_bits(whole, pickle.loads(pickle.dumps(parts)))
    same_bits(
        whole, AveragedSGDRegressor(shuffle=False).fit(iter([(X[:9], y[:9]), (X[9:], y[9:])]))
    )


def test_float32_and_dense_or_sparse_rows_are_one_model():
    X, y = stream(seed=9)
    X = X.astype(np.float32)
    models = [
        AveragedSGDClassifier(shuffle=False).fit(form(X), y)
        for form in (np.asarray, np.asfortranarray, sp.csr_matrix, lambda X: X.astype(float))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-12)


def test_shuffling_is_one_random_order():
    X, y = stream(seed=10)
    order = np.random.RandomState(3).permutation(300)
    one = AveragedSGDClassifier(random_state=3).fit(X, y)
    same_bits(one, AveragedSGDClassifier(shuffle=False).fit(X[order], y[order]))


@pytest.mark.parametrize("normalize", [True, "clip"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_are_normalised_in_fit_and_in_prediction(normalize, form):
    rng = np.random.default_rng(11)
    X, y = 3 * rng.standard_t(2, size=(200, 3)), rng.integers(0, 2, 200)
    lengths = np.linalg.norm(X, axis=1)
    R = 2.0
    limit = np.sqrt(R**2 - 1)
    factors = 1 / lengths if normalize is True else np.minimum(1, limit / lengths)
    ready = X * factors[:, None]
    model = AveragedSGDClassifier(R=R, normalize=normalize, shuffle=False).fit(form(X), y)
    other = AveragedSGDClassifier(R=R, shuffle=False).fit(ready, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-10)
    np.testing.assert_allclose(
        model.decision_function(form(X)), other.decision_function(ready), rtol=1e-9, atol=1e-12
    )
    assert model.bounds_valid_


def test_scale_of_the_regressor_moves_with_the_targets():
    X, _ = stream(seed=12)
    y = X[:, 0] + 0.3 * np.random.default_rng(0).normal(size=len(X))
    one = AveragedSGDRegressor(shuffle=False).fit(X, y)
    ten = AveragedSGDRegressor(scale=10.0, shuffle=False).fit(X, 10 * y)
    np.testing.assert_allclose(ten.predict(X), 10 * one.predict(X), rtol=1e-11)
    auto = AveragedSGDRegressor(scale="auto", shuffle=False).fit(X, 7 * y + 100)
    assert auto.center_ == pytest.approx(np.median(7 * y + 100))
    more = AveragedSGDRegressor(scale="auto", shuffle=False).fit(X, y)
    np.testing.assert_allclose(auto.predict(X), 7 * more.predict(X) + 100, rtol=1e-11)


def test_probabilities_of_the_sqrt_loss_minimise_it():
    model = AveragedSGDClassifier("sqrt").fit([[1.0], [-1.0], [2.0], [0.5]], [1, 0, 1, 0])
    u = model.decision_function([[3.0]])[0]
    p = model.predict_proba([[3.0]])[0, 1]
    assert p * SLOPES["sqrt"](u, 1) + (1 - p) * SLOPES["sqrt"](u, -1) == pytest.approx(0, abs=1e-12)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["constant", "distance"])
def test_constant_steps_need_a_horizon(schedule):
    X, y = stream()
    with pytest.raises(ValueError, match="needs a horizon"):
        AveragedSGDClassifier(schedule=schedule, dist=1.0).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="needs a horizon"):
        AveragedSGDClassifier(schedule=schedule, dist=1.0).fit(iter([(X, y)]))
    with pytest.raises(ValueError, match="needs dist"):
        AveragedSGDClassifier(schedule="distance", horizon=3).fit(X, y)


def test_a_row_longer_than_R_warns_once():
    X, y = stream()
    model = AveragedSGDClassifier(R=0.5, shuffle=False)
    with pytest.warns(UserWarning, match="longer than R=0.5"):
        model.partial_fit(X[:100], y[:100], classes=[-1, 1])
    assert not model.bounds_valid_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[100:], y[100:])
    assert pytest.approx(np.sqrt(np.max(np.sum(X**2, axis=1)) + 1)) == model.R_


def test_rounding_of_unit_rows_is_no_longer_row():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(500, 7))
    X /= np.linalg.norm(X, axis=1)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AveragedSGDClassifier(R=1.0, fit_intercept=False).fit(X, rng.integers(0, 2, 500))
    assert model.bounds_valid_


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"normalize": "clip"}, "needs R"),
        ({"normalize": "clip", "R": 1.0}, "no room"),
        ({"c": 0.0}, "'c'"),
        ({"R": -1.0}, "'R'"),
        ({"horizon": 0}, "'horizon'"),
        ({"schedule": "step"}, "'schedule'"),
    ],
)
def test_parameters_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        AveragedSGDClassifier(**options).fit(*stream())


def test_labels_and_chunks_are_checked():
    X, y = stream()
    model = AveragedSGDClassifier()
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="at least one"):
        model.fit(iter([]))
    model.partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, np.where(y > 0, 5, y))
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="not finite"):
        AveragedSGDClassifier(c=1e308).fit(1e30 * X, y)


def test_rows_of_zeros_teach_nothing_and_count():
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    model = AveragedSGDClassifier(fit_intercept=False).fit(X, y)
    assert (model.n_seen_, model.R_, np.abs(model.coef_).max()) == (4, 0.0, 0.0)
