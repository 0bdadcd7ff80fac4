"""The harness against row-by-row evaluation, and Table 1 of the paper."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from octavo.data import ArrayChunks
from octavo.online import (
    AROW,
    NHERD,
    SCW,
    OGDClassifier,
    OnlinePerceptron,
    PassiveAggressive,
    compare_online,
    libol_learners,
    progressive_evaluate,
    tune_online,
)
from octavo.online.one_pass.progressive import _row_by_row, default_grid
from tests.online.one_pass.learners import load, noisy_stream

# Table 1, svmguide3: mistake rate. NAROW is left out: see test_narow_of_the_release_is_a_lottery.
TABLE_1 = {
    "Perceptron": 0.332,
    "ROMMA": 0.329,
    "aROMMA": 0.328,
    "ALMA": 0.230,
    "OGD": 0.237,
    "PA": 0.318,
    "PA1": 0.236,
    "PA2": 0.253,
    "SOP": 0.297,
    "IELLIP": 0.332,
    "CW": 0.299,
    "NHERD": 0.217,
    "AROW": 0.222,
    "SCW": 0.206,
    "SCW2": 0.212,
}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_segments_are_the_row_by_row_evaluation(n_classes):
    X, y = noisy_stream(n=90, n_classes=n_classes)
    order = np.random.default_rng(0).permutation(90)
    ticks = np.array([10, 45, 90])
    for estimator in (AROW(), OnlinePerceptron(), NHERD()):
        trace = progressive_evaluate(estimator, X, y, order, ticks)
        slow = list(_row_by_row(clone(estimator), X, y, order, ticks))
        assert trace.n_mistakes.tolist() == [mistakes for mistakes, _, _ in slow]
        np.testing.assert_array_equal(trace.n_seen, ticks)
        np.testing.assert_allclose(trace.mistake_rate, trace.n_mistakes / ticks)
        assert np.all(np.diff(trace.cpu_time) >= 0)
        assert trace.estimator.n_updates_ == trace.n_updates[-1]


def test_any_incremental_classifier_can_be_followed():
    X, y = noisy_stream(n=60)
    X = sp.csr_matrix(X)
    trace = progressive_evaluate(SGDClassifier(random_state=0), X, y, ticks=3)
    assert trace.n_seen.tolist() == [20, 40, 60]
    assert np.all(np.isnan(trace.n_updates))
    peer, mistakes = SGDClassifier(random_state=0), [y[0] != 1]  # no score is the second class
    peer.partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, 60):
        mistakes.append(peer.predict(X[t])[0] != y[t])
        peer.partial_fit(X[t], y[t : t + 1])
    assert trace.n_mistakes.tolist() == np.cumsum(mistakes)[[19, 39, 59]].tolist()


def test_chunks_have_a_tick_each():
    X, y = noisy_stream(n=90)
    trace = progressive_evaluate(AROW(), ArrayChunks(X, y, 40))
    whole = progressive_evaluate(AROW(), X, y, ticks=[40, 80, 90])
    np.testing.assert_array_equal(trace.n_seen, [40, 80, 90])
    np.testing.assert_array_equal(trace.n_mistakes, whole.n_mistakes)
    np.testing.assert_array_equal(trace.n_updates, whole.n_updates)


def test_evaluation_leaves_the_estimator_alone():
    X, y = noisy_stream()
    model = AROW()
    progressive_evaluate(model, X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("ticks", [0, [0, 5], [5, 1000], []])
def test_impossible_ticks_are_refused(ticks):
    X, y = noisy_stream()
    with pytest.raises(ValueError, match="ticks must"):
        progressive_evaluate(AROW(), X, y, ticks=ticks)


def test_comparison_uses_the_same_orders_for_all():
    X, y = noisy_stream()
    result = compare_online({"a": AROW(), "b": AROW()}, X, y, 4, random_state=0, ticks=5)
    assert result.mistake_rate.shape == (2, 4, 5)
    np.testing.assert_array_equal(result.mistake_rate[0], result.mistake_rate[1])
    rng = np.random.RandomState(0)
    for r in range(4):
        alone = progressive_evaluate(AROW(), X, y, rng.permutation(len(y)), 5)
        np.testing.assert_array_equal(alone.mistake_rate, result.mistake_rate[0, r])
    row = result.table()[0]
    assert row["mistake_rate"] == pytest.approx(result.mistake_rate[0, :, -1].mean())
    assert row["mistake_rate_std"] == pytest.approx(result.mistake_rate[0, :, -1].std(ddof=1))
    assert str(result).count("\n") == 2
    again = compare_online({"a": AROW(), "b": AROW()}, X, y, 4, random_state=0, ticks=5, n_jobs=2)
    np.testing.assert_array_equal(again.mistake_rate, result.mistake_rate)


def test_repeated_classes_are_named_in_full():
    X, y = noisy_stream()
    result = compare_online([AROW(), AROW(r=2.0)], X, y, 1, random_state=0)
    assert result.names == ["AROW()", "AROW(r=2.0)"]


def test_tuning_takes_parameters_one_after_the_other_and_the_later_of_a_tie():
    X, y = noisy_stream(n=200)
    grid = {"C": (0.25, 1.0, 4.0), "eta": (0.6, 0.8)}
    tuning = tune_online(SCW(), X, y, grid, protocol="prefix", prefix=80)
    counts = {}
    for c in grid["C"]:
        counts[c] = SCW(C=c).fit(X[:80], y[:80]).n_mistakes_
    best = max(c for c in counts if counts[c] == min(counts.values()))
    assert tuning.params["C"] == best
    second = {e: SCW(C=best, eta=e).fit(X[:80], y[:80]).n_mistakes_ for e in grid["eta"]}
    assert tuning.params["eta"] == max(e for e in second if second[e] == min(second.values()))
    assert tuning.n_mistakes == min(second.values())
    assert tuning.n_rows == 80
    assert len(tuning.candidates) == 5
    assert tuning.estimator.get_params()["C"] == best


def test_the_prefix_never_sees_the_rest():
    X, y = noisy_stream(n=100)
    one = tune_online(AROW(), X, y, prefix=0.3)
    spoiled = y.copy()
    spoiled[30:] = 1 - spoiled[30:]
    assert tune_online(AROW(), X, spoiled, prefix=0.3).candidates == one.candidates


def test_libols_protocol_looks_at_all_rows_in_one_random_order():
    X, y = noisy_stream()
    tuning = tune_online(AROW(), X, y, protocol="libol", random_state=3)
    order = np.random.RandomState(3).permutation(len(y))
    expected = {2.0**k: AROW(r=2.0**k).fit(X[order], y[order]).n_mistakes_ for k in range(-4, 5)}
    assert {params["r"]: count for params, count in tuning.candidates} == expected
    assert default_grid(OGDClassifier(), "libol") == {}
    assert default_grid(PassiveAggressive("pa"), "prefix") == {}
    assert tune_online(OGDClassifier(), X, y, protocol="libol").params == {}


@pytest.mark.parametrize("prefix", [0.0, 1.5, 10_000, -3])
def test_impossible_prefixes_are_refused(prefix):
    with pytest.raises(ValueError, match="prefix must be"):
        tune_online(AROW(), *noisy_stream(), prefix=prefix)
    with pytest.raises(ValueError, match="protocol must be"):
        tune_online(AROW(), *noisy_stream(), protocol="cv")


def test_sixteen_and_thirteen_learners():
    assert list(libol_learners()) == [*list(TABLE_1)[:13], "NAROW", "SCW", "SCW2"]
    assert len(libol_learners("multiclass")) == 13
    with pytest.raises(ValueError, match="task must be"):
        libol_learners("ranking")
    X, y = noisy_stream(n_classes=3)
    result = compare_online(libol_learners("multiclass"), X, y, 2, random_state=0)
    assert np.all(result.mistake_rate[:, :, -1] < 0.7)


def table_1(X, y, n_orders):
    learners = libol_learners()
    del learners["NAROW"]
    tuned = {
        name: tune_online(learner, X, y, protocol="libol", random_state=0).estimator
        for name, learner in learners.items()
    }
    return compare_online(tuned, X, y, n_orders, random_state=1, ticks=1).table()


@pytest.mark.parametrize(
    "n_orders", [5, pytest.param(20, marks=pytest.mark.slow)], ids=["quick", "as in the paper"]
)
def test_table_1(n_orders):
    """Within 0.01, and the standard error of the mean of our own orders besides."""
    for row in table_1(*load("svmguide3"), n_orders):
        error = row["mistake_rate_std"] / np.sqrt(n_orders)
        allowed = 0.01 + (2 * error if n_orders < 20 else 0.0)
        assert abs(row["mistake_rate"] - TABLE_1[row["name"]]) < allowed, row


@pytest.mark.slow
def test_narow_of_the_release_is_a_lottery():
    """Orders change its rate by more than 0.05; as its authors wrote it they hardly do."""
    X, y = load("svmguide3")
    release = libol_learners()["NAROW"]
    spread = {}
    for variant in ("libol", "dual"):
        grid = [clone(release).set_params(b=b, variant=variant) for b in (2.0, 4.0, 8.0)]
        rows = compare_online(grid, X, y, 20, random_state=0, ticks=1).table()
        spread[variant] = [row["mistake_rate_std"] for row in rows]
        if variant == "dual":
            assert max(row["mistake_rate"] for row in rows) < 0.25
    assert min(spread["libol"]) > 0.05
    assert max(spread["dual"]) < 0.01
