"""Segment F1 and the randomisation test against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from octavo.sequence import approximate_randomization, segment_f1


def random_system(rng, truth, error):
    return [[("x" if rng.uniform() < error else label) for label in labels] for labels in truth]


def test_f1_by_hand():
    truth = [[(0, 2, "a"), (2, 3, "b"), (3, 5, "O")]]
    found = [[(0, 2, "a"), (2, 4, "b"), (4, 5, "a")]]
    assert segment_f1(truth, found, outside="O") == pytest.approx(2 * 1 / (2 + 3))
    by_label = segment_f1(truth, found, average=None, outside="O")
    assert by_label == {"a": pytest.approx(2 / 3), "b": 0.0}
    assert segment_f1(truth, found, average="macro", outside="O") == pytest.approx(1 / 3)
    assert segment_f1(truth, truth) == 1.0
    assert segment_f1([[(0, 1, "O")]], [[(0, 1, "O")]], outside="O") == 0.0


@given(st.lists(st.tuples(st.sampled_from("abO"), st.sampled_from("abO")), min_size=1))
def test_f1_of_single_positions_is_scikit_learns(pairs):
    truth = [[(t, t + 1, a) for t, (a, _) in enumerate(pairs)]]
    found = [[(t, t + 1, b) for t, (_, b) in enumerate(pairs)]]
    columns = list(zip(*pairs))
    expected = f1_score(*columns, labels=["a", "b"], average="micro", zero_division=0)
    assert segment_f1(truth, found, outside="O") == pytest.approx(expected)


def test_p_value_by_enumerating_all_swaps():
    rng = np.random.default_rng(0)
    truth = [["a"] * 3 for _ in range(8)]
    one, two = random_system(rng, truth, 0.1), random_system(rng, truth, 0.5)
    right = np.array(
        [[sum(x == y for x, y in zip(t, s)) for t, s in zip(truth, side)] for side in (one, two)]
    )
    observed = abs(right[0].sum() - right[1].sum())
    large = [
        abs(np.where(swap, right[1] - right[0], right[0] - right[1]).sum()) >= observed
        for swap in itertools.product([False, True], repeat=8)
    ]
    test = approximate_randomization("accuracy", truth, one, two, random_state=0)
    # 9999 draws of a chance near the exact one: five standard deviations.
    exact = np.mean(large)
    assert abs(test.pvalue - exact) < 5 * np.sqrt(exact * (1 - exact) / 9999) + 1e-4
    assert test.difference == pytest.approx((right[0].sum() - right[1].sum()) / 24)


def test_named_metrics_are_the_functions():
    rng = np.random.default_rng(1)
    truth = [[(0, 2, "a"), (2, 3, "b")] for _ in range(20)]
    one = [s if rng.uniform() < 0.9 else [(0, 3, "a")] for s in truth]
    two = [s if rng.uniform() < 0.5 else [(0, 3, "a")] for s in truth]
    named = approximate_randomization("segment_f1", truth, one, two, 500, random_state=0)
    called = approximate_randomization(segment_f1, truth, one, two, 500, random_state=0)
    assert named == called  # the same shuffles, one by one or all at once
    assert named.difference == pytest.approx(segment_f1(truth, one) - segment_f1(truth, two))
    assert named.pvalue < 0.05


def test_equal_systems_do_not_differ():
    truth = [["a", "b"]] * 5
    found = [["a", "a"]] * 5
    assert approximate_randomization("accuracy", truth, found, found, 99).pvalue == 1.0


def test_p_values_of_exchangeable_systems_are_uniform_at_most():
    rng = np.random.default_rng(2)
    values = []
    for _ in range(200):
        truth = [["a"] * 4 for _ in range(15)]
        one, two = random_system(rng, truth, 0.3), random_system(rng, truth, 0.3)
        test = approximate_randomization(
            "accuracy", truth, one, two, 199, random_state=rng.integers(10**6)
        )
        values.append(test.pvalue)
    for level in (0.05, 0.2, 0.5):
        found = np.mean(np.array(values) <= level)
        assert found <= level + 4 * np.sqrt(level * (1 - level) / 200)


def test_bad_input():
    with pytest.raises(ValueError, match="same number of sequences"):
        approximate_randomization("accuracy", [["a"]], [["a"]], [])
    with pytest.raises(ValueError, match="Sequence 1 has 2 labels in truth, but 1"):
        approximate_randomization("accuracy", [["a"], ["a", "b"]], [["a"]] * 2, [["a"]] * 2)
    with pytest.raises(ValueError, match="'segment_f1', 'accuracy' or callable"):
        approximate_randomization("bleu", [["a"]], [["a"]], [["a"]])
    with pytest.raises(ValueError, match="n_shuffles"):
        approximate_randomization("accuracy", [["a"]], [["a"]], [["a"]], 0)
    with pytest.raises(ValueError, match="average"):
        segment_f1([[]], [[]], average="weighted")
    with pytest.raises(ValueError, match="1 sequences, but y_pred has 2"):
        segment_f1([[]], [[], []])
