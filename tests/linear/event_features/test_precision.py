"""Average precision against scikit-learn and all orders of ties; Chao and Shen's entropy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from octavo.linear import average_precision, average_precision_interval, chao_shen_entropy


def of_order(hits):
    """Mean over positives of the precision at their place."""
    places = [k for k, hit in enumerate(hits, 1) if hit]
    return sum(j / place for j, place in enumerate(places, 1)) / len(places)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=2, max_size=7))
def test_ties_by_brute_force(rows):
    y, score = (np.array(column) for column in zip(*rows))
    if not y.any():
        return
    values = []
    for order in itertools.permutations(range(len(y))):
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order)):
            values.append(of_order(y[list(order)]))
    assert math.isclose(average_precision(y, score, ties="random"), np.mean(values))
    assert math.isclose(average_precision(y, score, ties="pessimistic"), min(values))
    assert math.isclose(average_precision(y, score), average_precision_score(y, score))


def test_without_ties_all_policies_are_one():
    rng = np.random.default_rng(0)
    y, score = rng.random(200) < 0.1, rng.normal(size=200)
    for ties in ("group", "random", "pessimistic"):
        assert math.isclose(
            average_precision(y, score, ties=ties), average_precision_score(y, score)
        )


def test_interval_holds_the_value_and_narrows():
    rng = np.random.default_rng(1)
    spans = []
    for n in (300, 4800):
        y = (rng.random(n) < 0.1).astype(int)
        found = average_precision_interval(y, y + rng.normal(size=n), random_state=0)
        assert found.low < found.value < found.high
        spans.append(found.high - found.low)
    assert spans[1] < 0.5 * spans[0]  # a quarter, by the square root of sixteen


def test_bad_input():
    with pytest.raises(ValueError, match="no positive"):
        average_precision([0, 0], [1, 2])
    with pytest.raises(ValueError, match="ties must be"):
        average_precision([0, 1], [1, 2], ties="best")
    with pytest.raises(ValueError, match="0 and 1"):
        average_precision([0, 2], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        average_precision([0, 1], [1, np.nan])
    with pytest.raises(ValueError, match="one length"):
        average_precision([0, 1], [1, 2, 3])


def chao_shen(counts):
    n = [c for c in counts if c]
    total, single = sum(n), sum(c == 1 for c in n)
    cover = 1 - (single if single < total else total - 1) / total
    value = 0.0
    for c in n:
        p = cover * c / total
        value -= p * math.log(p) / (1 - (1 - p) ** total)
    return value


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any))
def test_chao_shen_is_its_formula(counts):
    assert math.isclose(chao_shen_entropy(counts), chao_shen(counts), abs_tol=1e-12)


def test_chao_shen_in_known_cases():
    assert round(chao_shen_entropy([4, 2, 3, 0, 2, 4, 0, 0, 2, 1, 1]), 4) == 2.2011
    assert math.isclose(chao_shen_entropy([10_000] * 8), math.log(8), rel_tol=1e-9)
    assert chao_shen_entropy([]) == 0.0
    assert chao_shen_entropy([5]) == 0.0
    with pytest.raises(ValueError, match="whole numbers"):
        chao_shen_entropy([0.5])
