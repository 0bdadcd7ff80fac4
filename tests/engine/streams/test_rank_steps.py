"""Rank steps against the closed form of one step, separable data and a linear machine."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from octavo.engine.streams.rank_steps import learn_ranks, ranked_step


def step(w, d, gap, rule=0, most=np.inf, repeat=False):
    w, drift, scratch = np.array(w, dtype=float), np.zeros(len(w)), np.zeros(len(w))
    indices, values = np.arange(len(w)), np.array(d, dtype=float)
    if repeat:  # every entry in two halves
        indices, values = np.tile(indices, 2), np.tile(values / 2, 2)
    length = ranked_step(w, drift, 3.0, indices, values, indices.size, scratch, gap, rule, most)
    assert not scratch.any()
    return w, drift, length


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.floats(0.1, 9),
    st.booleans(),
)
def test_after_a_step_the_margin_is_met_exactly(w, d, gap, repeat):
    before, norm = float(np.dot(w, d)), float(np.dot(d, d))
    after, drift, length = step(w, d, gap, repeat=repeat)
    assume(norm >= 1e-3)
    if before >= math.sqrt(gap):  # wide enough: nothing moves
        assert after.tolist() == w
        assert length == 0.0
        return
    # Some ten roundings of numbers up to a hundred.
    assert np.dot(after, d) == pytest.approx(math.sqrt(gap), abs=1e-10)
    assert length == pytest.approx((math.sqrt(gap) - before) / norm)
    np.testing.assert_allclose(drift, 3.0 * (after - np.array(w)), atol=1e-10)


def test_slack_scaling_bounds_the_step_by_the_gap_and_the_perceptron_adds():
    w, _, length = step([0.0, 0.0], [0.1, 0.0], 2.0, rule=1, most=1.0)
    assert length == 2.0
    assert w[0] == pytest.approx(0.2)
    w, _, _ = step([0.0, 0.0], [3.0, 4.0], 2.0, rule=1, most=1.0)
    assert np.dot(w, [3.0, 4.0]) == pytest.approx(1.0)
    w, _, _ = step([0.0, 0.0], [3.0, 4.0], 2.0, rule=2)
    assert w.tolist() == [3.0, 4.0]
    w, _, length = step([1.0, 0.0], [3.0, 4.0], 2.0, rule=2)
    assert length == 0.0


def separable(seed, n=80):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=6)
    d = rng.normal(size=(n, 6))
    return d * np.sign(d @ truth)[:, None], truth


@pytest.mark.parametrize("rule", ["pa", "pa-slack", "perceptron"])
def test_separable_ranks_are_learned_without_error(rule):
    d, truth = separable(0)
    d = d[d @ truth > 0.3]
    w = learn_ranks(
        sp.csr_array(d), np.ones(len(d)), n_epochs=500, rule=rule, average=False, random_state=0
    )
    assert (d @ w > 0).all()


def test_ranks_as_a_linear_machine_on_differences():
    train, truth = separable(1, 400)
    test = separable(2, 2000)[0]
    test = test * np.sign(test @ truth)[:, None]
    w = learn_ranks(train, np.ones(len(train)), random_state=0)
    sign = np.where(np.arange(len(train)) % 2, 1.0, -1.0)
    machine = LinearSVC(fit_intercept=False, random_state=0).fit(train * sign[:, None], sign)
    ours, theirs = np.mean(test @ w > 0), np.mean(test @ machine.coef_[0] > 0)
    assert ours > theirs - 0.02  # two standard errors of a share of 2,000 near 0.95 are 0.01


def test_the_mean_of_the_weights_is_the_mean_over_examples():
    d, gaps = np.array([[1.0, 0.0], [-0.5, 1.0], [0.2, 0.3]]), np.array([1.0, 4.0, 2.0])
    rng = np.random.RandomState(0)
    w, seen = np.zeros(2), [np.zeros(2)]
    for _ in range(2):
        for i in rng.permutation(3):
            missed = math.sqrt(gaps[i]) - w @ d[i]
            w = w + max(missed, 0.0) / (d[i] @ d[i]) * d[i]
            seen.append(w)
    found = learn_ranks(d, gaps, n_epochs=2, random_state=0)
    np.testing.assert_allclose(found, np.mean(seen, axis=0), atol=1e-12)


def test_rows_that_say_nothing_and_bad_input():
    assert not learn_ranks([[0.0, 0.0], [1.0, 1.0]], [1.0, 0.0]).any()
    with pytest.raises(ValueError, match="one per row"):
        learn_ranks([[1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="rule must be"):
        learn_ranks([[1.0]], [1.0], rule="x")
